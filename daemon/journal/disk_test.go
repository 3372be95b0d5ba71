package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

var errFault = errors.New("the disk failed")

// faultyDisk is a disk whose nth step fails, before or after its effect. If it
// crashes there, no later step has an effect either.
type faultyDisk struct {
	disk
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

func (d *faultyDisk) openTemp() (tempFile, error) {
	var f tempFile
	err := d.step(func() (err error) { f, err = d.disk.openTemp(); return })
	if err != nil && f != nil {
		f.Close() // a process that dies, or an open that fails, leaves no handle
	}
	return &faultyFile{f, d}, err
}

func (d *faultyDisk) rename() error  { return d.step(d.disk.rename) }
func (d *faultyDisk) syncDir() error { return d.step(d.disk.syncDir) }
func (d *faultyDisk) removeTemp() error {
	if d.dead {
		return errFault
	}
	return d.disk.removeTemp()
}

type faultyFile struct {
	tempFile
	disk *faultyDisk
}

func (f *faultyFile) Write(b []byte) (int, error) {
	if f.disk.steps+1 == f.disk.fail && !f.disk.late {
		f.tempFile.Write(b[:len(b)/2]) // torn
	}
	n := 0
	err := f.disk.step(func() (err error) { n, err = f.tempFile.Write(b); return })
	return n, err
}

func (f *faultyFile) Sync() error { return f.disk.step(f.tempFile.Sync) }
func (f *faultyFile) Close() error {
	return errors.Join(f.disk.step(func() error { return nil }), f.tempFile.Close())
}

// TestAFaultAtEachStep: whatever step of a write fails, or is the last before a
// crash, the journal holds the old contents or the new, and the next write works.
func TestAFaultAtEachStep(t *testing.T) {
	const all = 6 // open, write, sync, close, rename, sync of the directory
	count := &faultyDisk{}
	d := open(t, t.TempDir())
	count.disk, d.disk = d.disk, count
	write(t, d, contents(1))
	if count.steps != all {
		t.Fatalf("a write took %d steps, want %d", count.steps, all)
	}
	for fail := 1; fail <= all; fail++ {
		for _, late := range []bool{false, true} {
			for _, crashes := range []bool{false, true} {
				t.Run(fmt.Sprintf("step %d, late %v, crash %v", fail, late, crashes), func(t *testing.T) {
					d := open(t, t.TempDir())
					write(t, d, contents(1))
					d.disk = &faultyDisk{disk: d.disk, fail: fail, late: late, crashes: crashes}
					err := d.Write(contents(2))
					if !errors.Is(err, errFault) || !strings.Contains(err.Error(), filepath.Join(d.Path(), journalName)) {
						t.Fatalf("Write: %v, want the fault and the file's name", err)
					}
					_, left := os.Lstat(filepath.Join(d.Path(), tempName))
					if opened := fail > 1; opened && !crashes && !errors.Is(left, fs.ErrNotExist) {
						t.Errorf("the temporary file is left over: %v", left)
					}
					must(t, d.Close())

					d = open(t, d.Path())
					if renamed := fail == all || fail == all-1 && late; renamed {
						wantRead(t, d, contents(2))
					} else {
						wantRead(t, d, contents(1))
					}
					write(t, d, contents(3))
					wantRead(t, d, contents(3))
				})
			}
		}
	}
}

// memoryDisk is a disk with a cache: what was not synced, a power cut loses in
// part or as a whole.
type memoryDisk struct {
	journal, temp  *memoryFile // by name, as a process sees it
	durableJournal *memoryFile // what the name leads to after a power cut
	left           int         // steps until the power cut
	tornAt         func(n int) int
}

type memoryFile struct {
	disk   *memoryDisk
	data   []byte
	synced int // so many bytes of data survive
}

var errCut = errors.New("power cut")

func (d *memoryDisk) step() error {
	if d.left == 0 {
		return errCut
	}
	d.left--
	return nil
}

func (d *memoryDisk) read() ([]byte, error) {
	if d.journal == nil {
		return nil, fs.ErrNotExist
	}
	return d.journal.data, nil
}

func (d *memoryDisk) openTemp() (tempFile, error) {
	if err := d.step(); err != nil {
		return nil, err
	}
	d.temp = &memoryFile{disk: d}
	return d.temp, nil
}

func (d *memoryDisk) rename() error {
	if err := d.step(); err != nil {
		return err
	}
	d.journal, d.temp = d.temp, nil
	return nil
}

func (d *memoryDisk) removeTemp() error { d.temp = nil; return nil }

func (d *memoryDisk) syncDir() error {
	if err := d.step(); err != nil {
		return err
	}
	d.durableJournal = d.journal
	return nil
}

func (f *memoryFile) Write(b []byte) (int, error) {
	if err := f.disk.step(); err != nil {
		return 0, err
	}
	f.data = append(f.data, b...)
	return len(b), nil
}

func (f *memoryFile) Sync() error {
	if err := f.disk.step(); err != nil {
		return err
	}
	f.synced = len(f.data)
	return nil
}

func (f *memoryFile) Close() error { return f.disk.step() }

// cut is the power cut: the rename may or may not have reached the disk by
// itself, and so may any part of the data.
func (d *memoryDisk) cut(renameSurvives bool) {
	if !renameSurvives {
		d.journal = d.durableJournal
	}
	if f := d.journal; f != nil {
		f.data = f.data[:f.synced+d.tornAt(len(f.data)-f.synced)]
	}
}

// TestAPowerCutLosesNothingThatWasAcknowledged: after a power cut at any step the
// journal is the old one or the new, and the new one if Write had returned nil.
func TestAPowerCutLosesNothingThatWasAcknowledged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &memoryDisk{left: rapid.IntRange(0, 20).Draw(t, "steps")}
		d.tornAt = func(n int) int { return rapid.IntRange(0, n).Draw(t, "torn at") }
		possible := [][]byte{nil} // what may be found after the cut
		for i := range 4 {
			data := bytes.Repeat([]byte{byte('a' + i)}, i+3)
			if err := replace(d, data); err != nil {
				if !errors.Is(err, errCut) {
					t.Fatal(err)
				}
				possible = append(possible, data)
				break
			}
			possible = [][]byte{data}
		}
		d.cut(rapid.Bool().Draw(t, "rename survives"))
		got, err := d.read()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, p := range possible {
			if bytes.Equal(got, p) && (got == nil) == (p == nil) {
				return
			}
		}
		t.Fatalf("after the cut the journal is %q, want one of %q", got, possible)
	})
}

// fullDisk takes the kernel's own word for a full disk.
type fullDisk struct{ disk }

func (d *fullDisk) openTemp() (tempFile, error) {
	f, err := d.disk.openTemp()
	if err != nil {
		return nil, err
	}
	f.Close()
	return os.OpenFile("/dev/full", os.O_WRONLY, 0)
}

func TestAFullDiskSaysWhatToDo(t *testing.T) {
	d := open(t, t.TempDir())
	write(t, d, contents(1))
	healthy := d.disk
	d.disk = &fullDisk{healthy}
	err := d.Write(contents(2))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free space") ||
		!strings.Contains(err.Error(), filepath.Join(d.Path(), journalName)) {
		t.Fatalf("Write: %v, want ENOSPC, the file's name and what to do", err)
	}
	wantRead(t, d, contents(1))
	d.disk = healthy
	write(t, d, contents(3))
	wantRead(t, d, contents(3))
}

func TestAdvice(t *testing.T) {
	for err, says := range map[error]string{
		syscall.ENOSPC: "free space", syscall.EDQUOT: "free space", syscall.EFBIG: "limit",
		syscall.EROFS: "read-only", syscall.EACCES: "right", errFault: "check the disk",
	} {
		if got := advice(fmt.Errorf("write x: %w", err)); !strings.Contains(got, says) {
			t.Errorf("advice(%v) = %q, want it to say %q", err, got, says)
		}
	}
}
