// Package disk is a simulated state directory: it keeps apart what was written from what would
// survive a power cut, and fails as it is told to.
package disk

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"syscall"

	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/place"
)

// Disk implements journal.Disk.
type Disk struct {
	// Step is called before each step, which takes place if it returns nil. It may take simulated
	// time, and may not return at all if the process dies there.
	Step func(Step) error

	// Ended, if there is one, is told how each step ended.
	Ended func(step Step, how string)

	// Where is where the disk is: what is written there names it.
	Where place.Place

	// Full makes the file unable to grow, and with that its making fail. Failing makes syncs fail,
	// or the one step FailsAt, with Errno or EIO; a step that fails does what it is for all the
	// same if Anyway is set.
	Full, Failing, Anyway bool
	FailsAt               Step
	Errno                 error

	// Moved, if not 0, is after how many looks, this one included, the path is found to lead
	// elsewhere.
	Moved int

	// Unread is why the journal cannot be read, until it is written; nil if it can.
	Unread error

	// Lies makes syncs do nothing and succeed. No daemon is promised to survive that.
	Lies bool

	there   bool    // there is a file
	durable []byte  // what a power cut leaves for sure
	dirty   []write // what was written since, the newest last

	// Old contents are kept as the oldest of them and what made each of the others of the one
	// before.
	oldest []byte
	synced [][]write // by sync, the newest last
	since  []write   // what has become durable since the last sync
	next   func()    // puts another file in the journal's place; nil: nobody has
}

// Step is one of the steps in which a journal is written.
type Step string

// The steps.
const (
	StepOpen  Step = "open"
	StepWrite Step = "write"
	StepSync  Step = "fsync"
)

// How a step ends.
const (
	Done          = "done"
	Failed        = "failed"
	FailedAndDone = "failed, and done all the same"
)

func (d *Disk) ended(step Step, how string) {
	if d.Ended != nil {
		d.Ended(step, how)
	}
}

type write struct {
	data  []byte
	at    int64
	whole bool // the file is data and nothing else
}

// most is how many writes may be on their way to the disk: a kernel writes back by itself in time,
// so a sync that is missing leaves an old journal and not none.
const most = 4

// keep is how many old contents are remembered.
const keep = 24

// on returns what w makes of a file, which it may do in place.
func (w write) on(file []byte) []byte {
	if w.whole {
		return append(file[:0], w.data...)
	}
	if end := int(w.at) + len(w.data); end > len(file) {
		file = append(file, make([]byte, end-len(file))...)
	}
	copy(file[w.at:], w.data)
	return file
}

// now is what a process sees. Where that is what is durable, it is the very same bytes.
func (d *Disk) now() []byte {
	if len(d.dirty) == 0 {
		return slices.Clip(d.durable)
	}
	file := slices.Clone(d.durable)
	for _, w := range d.dirty {
		file = w.on(file)
	}
	return file
}

// length is that of now, in bytes.
func (d *Disk) length() int64 {
	n := int64(len(d.durable))
	for _, w := range d.dirty {
		n = max(n, w.at+int64(len(w.data)))
	}
	return n
}

// reach makes a write durable.
func (d *Disk) reach(w write) {
	d.durable, d.since = w.on(d.durable), append(d.since, w)
}

// Read implements journal.Disk. Its caller changes nothing of what it returns, which is good until
// the next step.
func (d *Disk) Read() ([]byte, error) {
	if d.Unread != nil {
		return nil, d.Unread
	}
	if !d.there {
		return nil, fs.ErrNotExist
	}
	return d.now(), nil
}

// Open implements journal.Disk.
func (d *Disk) Open() (int64, error) {
	if d.there {
		return d.length(), nil
	}
	if err := d.Step(StepOpen); err != nil {
		return 0, err
	}
	if d.fails(StepOpen) {
		d.ended(StepOpen, Failed)
		return 0, d.errno()
	}
	d.ended(StepOpen, Done)
	d.there = true
	return 0, nil
}

// Discard implements journal.Disk.
func (d *Disk) Discard() error {
	if err := d.Step(StepOpen); err != nil {
		return err
	}
	if d.fails(StepOpen) {
		return d.errno()
	}
	d.there, d.durable, d.dirty, d.since, d.Unread = false, nil, nil, nil, nil
	d.oldest, d.synced = nil, nil
	return nil
}

// WriteAt implements journal.Disk.
func (d *Disk) WriteAt(data []byte, at int64) error {
	if err := d.Step(StepWrite); err != nil {
		return err
	}
	w, err := write{data: slices.Clone(data), at: at}, error(nil)
	switch {
	case d.fails(StepWrite):
		w.data, err = w.data[:len(data)/2], d.errno()
	case d.Full && at+int64(len(data)) > d.length():
		w.data, err = w.data[:len(data)/2], syscall.ENOSPC
	}
	if err != nil {
		d.ended(StepWrite, Failed)
	} else {
		d.ended(StepWrite, Done)
	}
	d.Unread = nil
	if d.dirty = append(d.dirty, w); len(d.dirty) > most {
		d.reach(d.dirty[0])
		d.dirty = d.dirty[1:]
	}
	return err
}

// Sync implements journal.Disk.
func (d *Disk) Sync() error {
	if err := d.Step(StepSync); err != nil {
		return err
	}
	failed := d.fails(StepSync)
	if failed && !d.Anyway {
		d.ended(StepSync, Failed)
		return d.errno()
	}
	if !d.Lies {
		for _, w := range d.dirty {
			d.reach(w)
		}
		d.synced, d.dirty, d.since = append(d.synced, d.since), nil, nil
		if len(d.synced) > keep {
			d.oldest = after(d.oldest, d.synced[0])
			d.synced = append(d.synced[:0], d.synced[1:]...)
		}
	}
	if failed {
		d.ended(StepSync, FailedAndDone)
		return d.errno()
	}
	d.ended(StepSync, Done)
	return nil
}

// Close implements journal.Disk.
func (d *Disk) Close() error { return nil }

// Place implements journal.Disk.
func (d *Disk) Place() (place.Place, error) { return d.Where, nil }

// fails reports whether a step does.
func (d *Disk) fails(step Step) bool {
	return d.Failing && (d.FailsAt == step || d.FailsAt == "" && step == StepSync)
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

// PowerCut loses what was not synced, as far as fate says: each write by itself may have been
// reached, in part or as a whole. It says what is left.
func (d *Disk) PowerCut(fate *rand.Rand) string {
	if !d.there {
		return "no journal"
	}
	lost, torn := 0, 0
	for _, w := range d.dirty {
		switch fate.IntN(3) {
		case 0:
			lost++
		case 1: // one end of it or the other, up to any byte
			cut := fate.IntN(len(w.data) + 1)
			if fate.IntN(2) == 0 {
				w.data = w.data[:cut]
			} else {
				w.data, w.at = w.data[cut:], w.at+int64(cut)
			}
			d.reach(w)
			torn++
		default:
			d.reach(w)
		}
	}
	of := len(d.dirty)
	d.dirty = nil
	if of == 0 {
		return "the newest journal"
	}
	return fmt.Sprintf("a journal without %d of its last %d writes, and parts of %d", lost, of, torn)
}

// Lose makes it another, empty disk.
func (d *Disk) Lose() {
	d.there, d.durable, d.dirty, d.Unread = false, nil, nil, nil
	d.oldest, d.synced, d.since, d.next = nil, nil, nil, nil
}

// Copies is how many contents that the journal had before are kept.
func (d *Disk) Copies() int { return len(d.synced) }

// Copy is one of those contents, from 0, the oldest. It is its caller's.
func (d *Disk) Copy(n int) []byte {
	file := slices.Clone(d.oldest)
	for _, writes := range d.synced[:n+1] {
		file = after(file, writes)
	}
	return file
}

// after is what writes make of a file, which they may do in place.
func after(file []byte, writes []write) []byte {
	for _, w := range writes {
		file = w.on(file)
	}
	return file
}

// Put puts a copy back: into the same file, so that its place does not tell.
func (d *Disk) Put(data []byte) {
	d.there, d.dirty, d.Unread = true, nil, nil
	d.reach(write{data: bytes.Clone(data), whole: true})
}

// Replace has another file renamed into the journal's place, as it is known there. Whoever has the
// journal open keeps the one that was there, and learns of it after looks of Moved; Reopen is the
// next one.
func (d *Disk) Replace(data []byte, known place.File, looks int) {
	d.Moved = looks
	d.next = func() {
		d.Put(data)
		d.Where.Journal = known
	}
}

// Reopen is for a process that starts: the path leads to the disk again. It reports whether it
// leads to another file than before.
func (d *Disk) Reopen() (replaced bool) {
	d.Moved = 0
	next := d.next
	if next != nil {
		d.next = nil
		next()
	}
	return next != nil
}
