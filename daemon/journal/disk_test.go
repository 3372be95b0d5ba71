package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

var errFault = errors.New("the disk failed")

// faultyDisk is a disk whose nth step fails, before or after its effect. If it
// crashes there, no later step has an effect either.
type faultyDisk struct {
	Disk
	steps   int // taken so far
	fail    int // the step that fails, from 1
	late    bool
	crashes bool
	dead    bool
}

// step takes one step by way of do.
func (d *faultyDisk) step(do func() error) error {
	d.steps++
	switch {
	case d.dead:
		return errFault
	case d.steps != d.fail:
		return do()
	}
	d.dead = d.crashes
	if d.late {
		return errors.Join(do(), errFault)
	}
	return errFault
}

func (d *faultyDisk) WriteAt(data []byte, at int64) error {
	if d.steps+1 == d.fail && !d.late {
		_ = d.Disk.WriteAt(data[:len(data)/2], at) // torn
	}
	return d.step(func() error { return d.Disk.WriteAt(data, at) })
}

func (d *faultyDisk) Sync() error { return d.step(d.Disk.Sync) }

// TestAFaultAtEachStep: whatever step of a write fails, or is the last before a
// crash, the journal says what it said before or what was to be written, and the next
// write works, in the same process and in the next.
func TestAFaultAtEachStep(t *testing.T) {
	for before := range 3 { // the first write makes the file
		all := 2 // write, sync
		if before == 0 {
			all = 4 // and the same for the zeros
		}
		count := &faultyDisk{}
		d := open(t, t.TempDir())
		for i := range before {
			write(t, d, contents(generator.Tick(i)))
		}
		count.Disk, d.disk = d.disk, count
		write(t, d, contents(9))
		if count.steps != all {
			t.Fatalf("write %d took %d steps, want %d", before+1, count.steps, all)
		}
		for fail := 1; fail <= all; fail++ {
			for _, late := range []bool{false, true} {
				for _, crashes := range []bool{false, true} {
					t.Run(fmt.Sprintf("after %d writes, step %d, late %v, crash %v", before, fail, late, crashes), func(t *testing.T) {
						d := open(t, t.TempDir())
						for i := range before {
							write(t, d, contents(generator.Tick(i)))
						}
						faulty := &faultyDisk{Disk: d.disk, fail: fail, late: late, crashes: crashes}
						d.disk = faulty
						err := d.Write(contents(10))
						if !errors.Is(err, errFault) || !strings.Contains(err.Error(), filepath.Join(d.Path(), journalName)) {
							t.Fatalf("Write: %v, want the fault and the file's name", err)
						}
						if !crashes {
							write(t, d, contents(11))
							wantRead(t, d, contents(11))
						}
						must.Do(t, d.Close())

						d = open(t, d.Path())
						got, err := d.Read()
						switch written := fail == all || fail == all-1 && late; {
						case !crashes:
							wantRead(t, d, contents(11))
						case written:
							wantRead(t, d, contents(10))
						case before > 0:
							wantRead(t, d, contents(generator.Tick(before-1)))
						case err == nil:
							t.Fatalf("%+v is read, and nothing was written whole", got)
						}
						write(t, d, contents(12))
						wantRead(t, d, contents(12))
					})
				}
			}
		}
	}
}

// memoryDisk is a disk with a cache: each write that was not synced, a power cut loses
// by itself, in part or as a whole.
type memoryDisk struct {
	there      bool
	data       []byte // as a process sees it
	durable    []byte
	dirty      []dirtyWrite
	unreadable error
	moved      error
	tear       func(n int) (from, to int) // what survives of n bytes that were not synced
	left       int                        // steps until the power cut; below 0: none comes
	failing    bool                       // syncs fail, and do nothing
}

type dirtyWrite struct {
	data []byte
	at   int64
}

var errCut = errors.New("power cut")

func (d *memoryDisk) step() error {
	if d.left == 0 {
		return errCut
	}
	d.left--
	return nil
}

func (d *memoryDisk) Read() ([]byte, error) {
	if !d.there {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(d.data), d.unreadable
}

func (d *memoryDisk) Open() (int64, error) {
	if !d.there {
		if err := d.step(); err != nil {
			return 0, err
		}
	}
	d.there = true
	return int64(len(d.data)), nil
}

func (d *memoryDisk) Discard() error {
	if err := d.step(); err != nil {
		return err
	}
	d.there, d.data, d.durable, d.dirty, d.unreadable = false, nil, nil, nil, nil
	return nil
}

func overwrite(file []byte, w dirtyWrite) []byte {
	if end := int(w.at) + len(w.data); end > len(file) {
		file = append(file, make([]byte, end-len(file))...)
	}
	copy(file[w.at:], w.data)
	return file
}

func (d *memoryDisk) WriteAt(data []byte, at int64) error {
	w := dirtyWrite{bytes.Clone(data), at}
	d.dirty = append(d.dirty, w) // also if the power is cut in its midst
	if err := d.step(); err != nil {
		return err
	}
	d.data, d.unreadable = overwrite(d.data, w), nil
	return nil
}

func (d *memoryDisk) Sync() error {
	if err := d.step(); err != nil {
		return err
	}
	if d.failing { // what has not reached the disk is in memory alone from now on: the next sync does not write it
		d.reach()
		return errFault
	}
	for _, w := range d.dirty {
		d.durable = overwrite(d.durable, w)
	}
	d.dirty = nil
	return nil
}

func (d *memoryDisk) Ours() error                 { return d.moved }
func (d *memoryDisk) Place() (place.Place, error) { return place.Place{Host: here}, nil }
func (d *memoryDisk) Close() error                { return nil }

// reach has parts of what was not synced reach the disk.
func (d *memoryDisk) reach() {
	for _, w := range d.dirty {
		from, to := d.tear(len(w.data))
		if from < to {
			d.durable = overwrite(d.durable, dirtyWrite{w.data[from:to], w.at + int64(from)})
		}
	}
	d.dirty = nil
}

// cut is the power cut.
func (d *memoryDisk) cut() {
	d.reach()
	d.data, d.left = bytes.Clone(d.durable), -1
}

func newMemory() *memoryDisk { return &memoryDisk{left: -1} }

func TestOnAnotherDisk(t *testing.T) {
	m := newMemory()
	d := On("/elsewhere", m)
	if _, err := d.Read(); !errors.Is(err, ErrNone) {
		t.Errorf("Read of nothing: %v, want ErrNone", err)
	}
	write(t, d, contents(7))
	wantRead(t, d, contents(7))
	m.moved = ErrMoved
	if err := d.Write(contents(8)); !errors.Is(err, ErrMoved) {
		t.Errorf("Write where the directory is another one: %v, want ErrMoved", err)
	}
	must.Do(t, d.Close())
}

// TestAPowerCutLosesNothingThatWasAcknowledged: after a power cut at any step, which may
// tear each write that was not synced anywhere, the journal is the last one that was
// acknowledged or the one that was being written; also over several such lives.
func TestAPowerCutLosesNothingThatWasAcknowledged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMemory()
		m.tear = func(n int) (int, int) {
			from := rapid.IntRange(0, n).Draw(t, "survives from")
			return from, rapid.IntRange(from, n).Draw(t, "to")
		}
		acknowledged, mark := Contents{}, generator.Tick(0)
		for range rapid.IntRange(1, 3).Draw(t, "lives") {
			d := On("/elsewhere", m)
			m.left = rapid.IntRange(0, 14).Draw(t, "steps")
			var trying Contents
			for range 5 {
				mark++
				trying = contents(mark)
				m.failing = rapid.IntRange(0, 3).Draw(t, "sync fails") == 0
				err := d.Write(trying)
				if errors.Is(err, errFault) {
					continue
				}
				if err != nil {
					if !errors.Is(err, errCut) {
						t.Fatal(err)
					}
					break
				}
				acknowledged = trying
			}
			if m.failing = false; rapid.Bool().Draw(t, "killed, and no power cut") {
				continue
			}
			m.cut()
			got, err := On("/elsewhere", m).Read()
			got.Place = place.Place{}
			if err == nil && acknowledged.Entries != nil && got.Entries[0].Mark < acknowledged.Entries[0].Mark {
				t.Fatalf("after the cut the mark is %d, and %d was acknowledged", got.Entries[0].Mark, acknowledged.Entries[0].Mark)
			}
			switch {
			case err != nil && acknowledged.Entries == nil: // nothing was promised
			case err != nil:
				t.Fatalf("after the cut: %v, want what was acknowledged, %+v", err, acknowledged)
			case !reflect.DeepEqual(got, contents(got.Entries[0].Mark)) || got.Entries[0].Mark > trying.Entries[0].Mark:
				t.Fatalf("after the cut the journal is %+v, want one from %+v to %+v", got, acknowledged, trying)
			}
			if err == nil {
				acknowledged = got
			}
		}
	})
}

// TestWritesThatFailLeaveTheLastOne: however many writes fail in a row, each torn on the disk, the
// last one that did not is still there after a power cut.
func TestWritesThatFailLeaveTheLastOne(t *testing.T) {
	for before := generator.Tick(1); before < 4; before++ {
		m := newMemory()
		m.tear = func(n int) (from, to int) { return 0, n / 2 }
		d := On("/elsewhere", m)
		for mark := range before {
			write(t, d, contents(1+mark))
		}
		m.failing = true
		for mark := range generator.Tick(3) {
			must.Fail(t, d.Write(contents(10+mark)), errFault)
		}
		m.cut()
		wantRead(t, On("/elsewhere", m), contents(before))
	}
}

// TestAWriteTornAtAnyByte: whatever part of a write reached the disk, from either end, the journal
// is the one before or, if all of it did, the new one.
func TestAWriteTornAtAnyByte(t *testing.T) {
	base := newMemory()
	d := On("/elsewhere", base)
	for mark := range generator.Tick(3) {
		write(t, d, contents(mark))
	}
	old, before := bytes.Clone(base.data), d.number
	write(t, d, contents(3))
	at := slotOf(before + 1)
	whole := base.data[at:][:len(mustEncode(t, d, contents(3), before+1))]
	for cut := range len(whole) + 1 {
		for _, part := range []dirtyWrite{{whole[:cut], at}, {whole[cut:], at + int64(cut)}} {
			m := newMemory()
			m.there, m.data = true, overwrite(bytes.Clone(old), part)
			got, err := On("/elsewhere", m).Read()
			if err != nil {
				t.Fatalf("bytes %d to %d of a write reached the disk: %v", part.at-at, int(part.at-at)+len(part.data), err)
			}
			want := generator.Tick(2)
			if bytes.Equal(m.data, base.data) {
				want = 3
			}
			if mark := got.Entries[0].Mark; mark != want {
				t.Fatalf("bytes %d to %d of a write reached the disk: mark %d is read, want %d", part.at-at, int(part.at-at)+len(part.data), mark, want)
			}
		}
	}
}

func mustEncode(t *testing.T, d *Dir, c Contents, number uint64) []byte {
	t.Helper()
	c.Place = must.Get(d.disk.Place())(t)
	return must.Get(encode(c, number))(t)
}

// TestWhatCouldNotBeReadDoesNotComeBack: a journal that could not be read, and can be again, says
// nothing beside what was written since.
func TestWhatCouldNotBeReadDoesNotComeBack(t *testing.T) {
	m := newMemory()
	for mark := range generator.Tick(6) {
		write(t, On("/elsewhere", m), contents(mark))
	}
	m.unreadable = syscall.EIO
	d := On("/elsewhere", m)
	_, err := d.Read()
	must.Fail(t, err, syscall.EIO)
	write(t, d, contents(100))
	wantRead(t, On("/elsewhere", m), contents(100))
}

// fullDisk takes nothing that needs room.
type fullDisk struct{ Disk }

func (d *fullDisk) WriteAt(data []byte, at int64) error {
	length, err := d.Open()
	if err != nil {
		return err
	}
	if at+int64(len(data)) > length {
		return &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return d.Disk.WriteAt(data, at)
}

func TestAFullDiskStopsNoJournalThatIsThere(t *testing.T) {
	d := open(t, t.TempDir())
	healthy := d.disk
	d.disk = &fullDisk{healthy}
	err := d.Write(contents(1))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free space") ||
		!strings.Contains(err.Error(), filepath.Join(d.Path(), journalName)) {
		t.Fatalf("the first Write: %v, want ENOSPC, the file's name and what to do", err)
	}
	d.disk = healthy
	write(t, d, contents(2))
	d.disk = &fullDisk{healthy}
	for mark := range generator.Tick(5) {
		write(t, d, contents(mark))
		wantRead(t, d, contents(mark))
	}
}

func TestAdvice(t *testing.T) {
	for err, says := range map[error]string{
		syscall.ENOSPC: "free space", syscall.EDQUOT: "free space", syscall.EFBIG: "limit", syscall.EMFILE: "raise the limit", syscall.ENFILE: "raise the limit",
		syscall.EROFS: "read-only", syscall.EACCES: "right", errFault: "check the disk",
	} {
		if got := advice(fmt.Errorf("write x: %w", err)); !strings.Contains(got, says) {
			t.Errorf("advice(%v) = %q, want it to say %q", err, got, says)
		}
	}
}

// TestAStartMakesDurableWhatItFound: a write that a process could not sync is all that the next one
// finds, in the memory of the system. Whatever step of that one's first write the power is cut at,
// the journal is none from before the last that was acknowledged.
func TestAStartMakesDurableWhatItFound(t *testing.T) {
	for steps := range 6 {
		m := newMemory()
		m.tear = func(n int) (int, int) { return 0, n / 2 }
		d := On("/elsewhere", m)
		write(t, d, contents(1))
		write(t, d, contents(2))
		m.failing = true
		m.tear = func(int) (int, int) { return 0, 0 }
		must.Fail(t, d.Write(contents(3)), errFault)
		m.failing = false
		m.tear = func(n int) (int, int) { return 0, n / 2 }
		m.left = steps
		_ = On("/elsewhere", m).Write(contents(4))
		m.cut()
		if c, err := On("/elsewhere", m).Read(); err != nil || c.Entries[0].Mark < 2 {
			t.Errorf("cut after %d steps: %+v, %v, want mark 2 at least", steps, c.Entries, err)
		}
	}
}

// TestWhatIsNotTrustedIsGoneAtOnce: a journal that could not be read, or that another version wrote
// last, is removed before it is written anew. Wherever the power is cut, nothing from before it is
// believed.
func TestWhatIsNotTrustedIsGoneAtOnce(t *testing.T) {
	for name, spoil := range map[string]func(m *memoryDisk){
		"another version wrote last": func(m *memoryDisk) {
			other := dirtyWrite{[]byte("flakeward journal 4 something else\n"), slotOf(3)}
			m.data, m.durable = overwrite(m.data, other), overwrite(m.durable, other)
		},
		"it cannot be read": func(m *memoryDisk) { m.unreadable = errFault },
	} {
		for steps := range 7 {
			for _, failing := range []bool{false, true} {
				m := newMemory()
				d := On("/elsewhere", m)
				for mark := range generator.Tick(4) {
					write(t, d, contents(mark))
				}
				newest := generator.Tick(3)
				spoil(m)
				m.left, m.failing = steps, failing
				m.tear = func(n int) (int, int) { return n / 2, n }
				d = On("/elsewhere", m)
				acknowledged := d.Write(contents(50)) == nil
				if m.failing = false; d.Write(contents(51)) == nil {
					acknowledged = true
				}
				m.cut()
				m.unreadable = nil
				c, err := On("/elsewhere", m).Read()
				switch {
				case err != nil && acknowledged:
					t.Errorf("%s, %d steps, a sync fails %v: %v, and a write was acknowledged", name, steps, failing, err)
				case err == nil && c.Entries[0].Mark < 50 && (name != "it cannot be read" || c.Entries[0].Mark != newest):
					t.Errorf("%s, %d steps, a sync fails %v: mark %d is believed again", name, steps, failing, c.Entries[0].Mark)
				}
			}
		}
	}
}
