package inject

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/internal/fault"
)

const defaultWriteBack = 3 * time.Second

// parseDisk reads what disk a drill asks for: "volatile" is one from which the end of the process,
// however it comes, takes what a power cut would. "volatile/5s" says how long it takes until what
// nobody synced is written back after all; 3 s if that is not said. With "fuse" the state directory
// may lie on a FUSE file system, which then does that. "hung/PATH" is one whose flushes hang as long
// as there is a file at the path.
func parseDisk(text string) (journal.Options, error) {
	if path, hung := strings.CutPrefix(text, "hung/"); hung && path != "" {
		return journal.Options{Disk: func(d journal.Disk) journal.Disk { return &hungDisk{d, path} }}, nil
	}
	kind, after, timed := strings.Cut(text, "/")
	writeBack := defaultWriteBack
	var err error
	if timed {
		writeBack, err = time.ParseDuration(after)
	}
	switch {
	case text == "":
		return journal.Options{}, nil
	case text == "fuse":
		return journal.Options{FUSE: true}, nil
	case kind != "volatile" || err != nil || writeBack <= 0:
		return journal.Options{}, fmt.Errorf("$%s is %q: write volatile, or volatile/5s, or fuse, or hung/PATH", fault.Disk, text)
	}
	return journal.Options{Disk: func(d journal.Disk) journal.Disk {
		return &volatileDisk{Disk: d, now: monotonic, writeBack: writeBack}
	}}, nil
}

// monotonic is the time by which the kernel writes back. No drill sets it.
func monotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // fails for no clock that exists
	return time.Duration(t.Nano())
}

// volatileDisk keeps in memory what was not synced. A write reaches the disk below when it has been
// synced, or has been there for long enough: a kernel writes back by itself in time, which is why a
// sync that is missing leaves an old journal and not none. It is looked for at each call; nothing
// happens in between.
type volatileDisk struct {
	journal.Disk // what a power cut leaves
	now          func() time.Duration
	writeBack    time.Duration

	written []volatileWrite // since the disk below has it, the newest last
}

type volatileWrite struct {
	data   []byte
	at     int64
	when   time.Duration
	synced bool
}

// Read returns what the process sees: its own writes over what the disk below has.
func (d *volatileDisk) Read() ([]byte, error) {
	_ = d.settle()
	data, err := d.Disk.Read()
	if err != nil {
		return nil, err
	}
	for _, w := range d.written {
		if end := int(w.at) + len(w.data); end > len(data) {
			data = append(data, make([]byte, end-len(data))...)
		}
		copy(data[w.at:], w.data)
	}
	return data, nil
}

// Discard forgets what was written as well.
func (d *volatileDisk) Discard() error {
	d.written = nil
	return d.Disk.Discard()
}

// WriteAt remembers a write.
func (d *volatileDisk) WriteAt(data []byte, at int64) error {
	_ = d.settle()
	d.written = append(d.written, volatileWrite{data: bytes.Clone(data), at: at, when: d.now()})
	return nil
}

// Sync fails if the disk below does: a full one is noticed here.
func (d *volatileDisk) Sync() error {
	for i := range d.written {
		d.written[i].synced = true
	}
	return d.settle()
}

// settle makes durable what is due. If the disk below fails, it is tried again at the next call.
func (d *volatileDisk) settle() error {
	now, due := d.now(), 0
	for i, w := range d.written {
		if w.synced || now-w.when >= d.writeBack {
			due = i + 1
		}
	}
	if due == 0 {
		return nil
	}
	for _, w := range d.written[:due] {
		if err := d.Disk.WriteAt(w.data, w.at); err != nil {
			return err
		}
	}
	if err := d.Disk.Sync(); err != nil {
		return err
	}
	d.written = d.written[due:]
	return nil
}
