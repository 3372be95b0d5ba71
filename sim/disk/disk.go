// Package disk is a simulated state directory: it keeps apart what was written from what would survive a power
// cut, and fails as it is told to.
package disk

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"syscall"

	"github.com/flakeward/flakeward/daemon/journal"
)

// Disk implements journal.Disk.
type Disk struct {
	// Step is called before each step, which takes place if it returns nil. It may take simulated time, and may
	// not return at all if the process dies there.
	Step func(Step) error

	// Full makes writes fail. Failing makes syncs and renames fail, or the one step FailsAt, with Errno or EIO; a sync or a rename that
	// fails does what it is for all the same if Anyway is set. Stuck makes the removal of what is left fail as well.
	Full, Failing, Anyway, Stuck bool
	FailsAt                      Step
	Errno                        error

	// Moved, if not 0, is after how many looks, this one included, the path is found to lead elsewhere.
	Moved int

	// Unread is why the journal cannot be read, until it is replaced; nil if it can.
	Unread error

	// Lies makes syncs do nothing and succeed. No daemon is promised to survive that.
	Lies bool

	names []*file // what the journal's name led to; the last one is what it leads to now
	temp  *file
	kept  [][]byte // contents of before, for old copies: the newest last
}

// Step is one of the steps in which a journal is replaced.
type Step string

// The steps.
const (
	StepOpen   Step = "open"
	StepWrite  Step = "write"
	StepSync   Step = "fsync"
	StepRename Step = "rename"
	StepDir    Step = "fsync of the directory"
)

type file struct {
	d      *Disk
	data   []byte
	synced bool
	named  bool // the name leads here also after a power cut
}

// dirty is how many journals may be on their way to the disk: a kernel writes back by itself in time, so a sync that is missing leaves an
// old journal and not none.
const dirty = 4

// keep is how many old contents are remembered.
const keep = 24

// Read implements journal.Disk.
func (d *Disk) Read() ([]byte, error) {
	if d.Unread != nil {
		return nil, d.Unread
	}
	if len(d.names) == 0 {
		return nil, fs.ErrNotExist
	}
	return slices.Clone(d.names[len(d.names)-1].data), nil
}

// OpenTemp implements journal.Disk.
func (d *Disk) OpenTemp() (journal.TempFile, error) {
	if err := d.Step(StepOpen); err != nil {
		return nil, err
	}
	if d.fails(StepOpen) {
		return nil, d.errno()
	}
	d.temp = &file{d: d}
	return d.temp, nil
}

func (f *file) Write(b []byte) (int, error) {
	if err := f.d.Step(StepWrite); err != nil {
		return 0, err
	}
	if f.d.fails(StepWrite) {
		return 0, f.d.errno()
	}
	if f.d.Full {
		f.data = append(f.data, b[:len(b)/2]...)
		return len(b) / 2, syscall.ENOSPC
	}
	f.data, f.synced = append(f.data, b...), false
	return len(b), nil
}

func (f *file) Sync() error {
	if err := f.d.Step(StepSync); err != nil {
		return err
	}
	failed := f.d.fails(StepSync)
	if failed && !f.d.Anyway {
		return f.d.errno()
	}
	f.synced = !f.d.Lies
	if failed {
		return f.d.errno()
	}
	return nil
}

func (f *file) Close() error { return nil }

// Rename implements journal.Disk.
func (d *Disk) Rename() error {
	if err := d.Step(StepRename); err != nil {
		return err
	}
	failed := d.fails(StepRename)
	if failed && !d.Anyway || d.temp == nil {
		return d.errno()
	}
	d.Unread = nil
	if d.names = append(d.names, d.temp); len(d.names) > dirty {
		d.names = append(d.names[:0], d.names[1:]...)
		d.names[0].synced, d.names[0].named = true, true
	}
	d.temp = nil
	if failed {
		return d.errno()
	}
	return nil
}

// RemoveTemp implements journal.Disk.
func (d *Disk) RemoveTemp() error {
	d.temp = nil
	if d.Failing && d.Stuck {
		return d.errno()
	}
	return nil
}

// SyncDir implements journal.Disk.
func (d *Disk) SyncDir() error {
	if err := d.Step(StepDir); err != nil {
		return err
	}
	failed := d.fails(StepDir)
	if failed && !d.Anyway {
		return d.errno()
	}
	if d.Lies {
		return nil
	}
	last := d.names[len(d.names)-1]
	last.named = true
	if len(d.kept) == keep {
		d.kept = append(d.kept[:0], d.kept[1:]...)
	}
	d.kept = append(d.kept, last.data)
	if last.synced { // otherwise its name may get to the disk after its data, so late
		d.names = append(d.names[:0], last)
	}
	if failed {
		return d.errno()
	}
	return nil
}

// fails reports whether a step does.
func (d *Disk) fails(step Step) bool {
	return d.Failing && (d.FailsAt == step || d.FailsAt == "" && step != StepOpen && step != StepWrite)
}

func (d *Disk) errno() error {
	if d.Errno != nil {
		return d.Errno
	}
	return syscall.EIO
}

// Ours implements journal.Disk.
func (d *Disk) Ours() error {
	if d.Moved > 1 {
		d.Moved--
		return nil
	}
	if d.Moved == 1 {
		return fmt.Errorf("%w: it is another one now", journal.ErrMoved)
	}
	return nil
}

// PowerCut loses what was not synced, as far as fate says: of names that were not synced any may have been reached, and a
// file that was not may hold anything. It says what is left.
func (d *Disk) PowerCut(fate *rand.Rand) string {
	d.temp = nil
	if len(d.names) == 0 {
		return "no journal"
	}
	at := fate.IntN(len(d.names))
	if !d.names[0].named {
		at = fate.IntN(len(d.names)+1) - 1
	}
	if at < 0 {
		d.names = nil
		return "no journal"
	}
	left := d.names[at]
	text := "the newest journal"
	if at < len(d.names)-1 {
		text = fmt.Sprintf("the journal of %d writes before", len(d.names)-1-at)
	}
	if !left.synced {
		switch fate.IntN(3) {
		case 0:
			left.data, text = nil, "an empty journal"
		case 1:
			left.data, text = left.data[:len(left.data)/2], "a torn journal"
		}
	}
	left.synced, left.named = true, true
	d.names = append(d.names[:0], left)
	return text
}

// Lose makes it another, empty disk.
func (d *Disk) Lose() { d.names, d.temp, d.kept, d.Unread = nil, nil, nil, nil }

// Copies are contents that the journal had before, the newest last.
func (d *Disk) Copies() [][]byte { return d.kept }

// Put puts a copy back.
func (d *Disk) Put(data []byte) {
	d.names, d.temp, d.Unread = []*file{{d: d, data: data, synced: true, named: true}}, nil, nil
}
