//go:build drill

package journal

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// DiskVariable names the environment variable that gives a drill build a disk from
// which the end of the process, however it comes, takes what a power cut would:
// "lossy", or "lossy/5s" with how long it takes until what nobody synced is
// written back after all; 3 s if that is not said. It is looked at by OpenDir.
const DiskVariable = "FLAKEWARD_DRILL_DISK"

const defaultWriteBack = 3 * time.Second

func diskOf(d *realDisk) (disk, error) {
	text := os.Getenv(DiskVariable)
	kind, after, timed := strings.Cut(text, "/")
	writeBack := defaultWriteBack
	var err error
	if timed {
		writeBack, err = time.ParseDuration(after)
	}
	switch {
	case text == "":
		return d, nil
	case kind != "lossy" || err != nil || writeBack <= 0:
		return nil, fmt.Errorf("$%s is %q: write lossy, or lossy/5s", DiskVariable, text)
	}
	return &lossyDisk{durable: d, now: monotonic, writeBack: writeBack}, nil
}

// monotonic is the time by which the kernel writes back. No drill sets it.
func monotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // fails for no clock that exists
	return time.Duration(t.Nano())
}

// lossyDisk keeps in memory what was not synced. A journal reaches the disk below when
// both its bytes and its name have been synced, or have been there for long enough: a
// kernel writes back by itself in time, which is why a sync that is missing leaves an
// old journal and not none. It is looked for at each call; nothing happens in between.
type lossyDisk struct {
	durable   disk // what a power cut leaves
	now       func() time.Duration
	writeBack time.Duration

	temp    *lossyFile
	renamed []lossyName // what the journal's name has led to since durable has it, the newest last
}

type lossyName struct {
	file   *lossyFile
	at     time.Duration // of the rename
	synced bool
}

// lossyFile is a file that nobody has found on the disk yet.
type lossyFile struct {
	disk   *lossyDisk
	data   []byte
	at     time.Duration // of the last write
	synced bool
}

func (d *lossyDisk) read() ([]byte, error) {
	_ = d.settle()
	if n := len(d.renamed); n > 0 {
		return bytes.Clone(d.renamed[n-1].file.data), nil
	}
	return d.durable.read()
}

func (d *lossyDisk) openTemp() (tempFile, error) {
	_ = d.settle()
	d.temp = &lossyFile{disk: d, at: d.now()}
	return d.temp, nil
}

func (d *lossyDisk) rename() error {
	_ = d.settle()
	if d.temp == nil {
		return os.ErrNotExist
	}
	d.renamed = append(d.renamed, lossyName{file: d.temp, at: d.now()})
	d.temp = nil
	return nil
}

func (d *lossyDisk) removeTemp() error {
	d.temp = nil
	return d.durable.removeTemp() // what an earlier process left
}

// syncDir fails if the disk below does: a full one is noticed here.
func (d *lossyDisk) syncDir() error {
	for i := range d.renamed {
		d.renamed[i].synced = true
	}
	return d.settle()
}

// settle makes the newest journal durable that is due. If the disk below fails, it
// is tried again at the next call.
func (d *lossyDisk) settle() error {
	now := d.now()
	for i := len(d.renamed) - 1; i >= 0; i-- {
		n := d.renamed[i]
		if !n.synced && now-n.at < d.writeBack || !n.file.synced && now-n.file.at < d.writeBack {
			continue
		}
		d.renamed = d.renamed[i:] // those before were replaced
		if err := replace(d.durable, n.file.data); err != nil {
			return err
		}
		d.renamed = d.renamed[1:]
		return nil
	}
	return nil
}

func (f *lossyFile) Write(b []byte) (int, error) {
	f.data = append(f.data, b...)
	f.at, f.synced = f.disk.now(), false
	return len(b), nil
}

func (f *lossyFile) Sync() error {
	f.synced = true
	return f.disk.settle()
}

func (f *lossyFile) Close() error { return nil }
