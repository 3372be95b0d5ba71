package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

func lane(t *testing.T, d *Dir, n int) *File {
	t.Helper()
	return must.Get(d.Lane(n))(t)
}

func wantLane(t *testing.T, d *Dir, n int, want Contents) {
	t.Helper()
	wantContents(t, lane(t, d, n), want)
}

func names(t *testing.T, d *Dir) []string {
	t.Helper()
	entries := must.Get(os.ReadDir(d.Path()))(t)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// Each lane reads what it wrote, across starts; the first one's journal is the directory's own,
// under the name that it always had.
func TestEachLaneHasAJournalOfItsOwn(t *testing.T) {
	d := open(t, t.TempDir())
	write(t, d, contents(1))
	for _, n := range []int{1, 17, MaxLanes - 1} {
		if _, err := lane(t, d, n).Read(); !errors.Is(err, ErrNone) {
			t.Fatalf("lane %d of a directory where it has not written: %v, want ErrNone", n, err)
		}
		must.Do(t, lane(t, d, n).Write(contents(generator.Tick(n))))
	}
	if got, want := names(t, d), []string{"journal", "journal-1", "journal-17", "journal-63", "lock"}; !slices.Equal(got, want) {
		t.Errorf("the directory holds %v, want %v", got, want)
	}
	wantLane(t, d, 0, contents(1))
	must.Do(t, lane(t, d, 0).Write(contents(2)))
	wantRead(t, d, contents(2))
	must.Do(t, d.Close())
	d = open(t, d.Path())
	wantRead(t, d, contents(2))
	wantLane(t, d, 17, contents(17))
	if again := lane(t, d, 17); again != lane(t, d, 17) {
		t.Error("two journals for one lane")
	}
	for _, n := range []int{-1, MaxLanes} {
		if f, err := d.Lane(n); err == nil {
			t.Errorf("lane %d has the journal %+v", n, f)
		}
	}
	if d.Lanes() != MaxLanes || On("/elsewhere", &memoryDisk{}, &memoryDisk{}).Lanes() != 2 {
		t.Errorf("%d lanes, want %d; 2 elsewhere", d.Lanes(), MaxLanes)
	}
}

// Whatever step of one lane's write fails, or is the last before a crash, the other lanes write at
// that very moment, before it and after it.
func TestAFaultInOneLanesWriteConcernsNoOther(t *testing.T) {
	for fail := 1; fail <= 2; fail++ {
		for _, late := range []bool{false, true} {
			for _, crashes := range []bool{false, true} {
				t.Run(fmt.Sprintf("step %d, late %v, crash %v", fail, late, crashes), func(t *testing.T) {
					d := open(t, t.TempDir())
					other, broken := lane(t, d, 0), lane(t, d, 1)
					must.Do(t, broken.Write(contents(1)))
					hooked := &hookedDisk{Disk: broken.disk, beforeWrite: func() { must.Do(t, other.Write(contents(10))) }}
					broken.disk = &faultyDisk{Disk: hooked, fail: fail, late: late, crashes: crashes}
					must.Fail(t, broken.Write(contents(2)), errFault)
					must.Do(t, other.Write(contents(11)))
					must.Do(t, d.Close())

					d = open(t, d.Path())
					wantLane(t, d, 0, contents(11))
					want := contents(1)
					if written := fail == 2 || late; written {
						want = contents(2)
					}
					wantLane(t, d, 1, want)
					must.Do(t, lane(t, d, 1).Write(contents(3)))
					wantLane(t, d, 1, contents(3))
					if got, want := names(t, d), []string{"journal", "journal-1", "lock"}; !slices.Equal(got, want) {
						t.Errorf("the directory holds %v, want %v", got, want)
					}
				})
			}
		}
	}
}

// Lanes write at once.
func TestLanesWriteSideBySide(t *testing.T) {
	const lanes, writes = 8, 20
	d := open(t, t.TempDir())
	var files []*File
	for n := range lanes {
		files = append(files, lane(t, d, n))
	}
	var all sync.WaitGroup
	for n, f := range files {
		all.Go(func() {
			for i := range writes {
				want := contents(generator.Tick(n*writes + i))
				if err := f.Write(want); err != nil {
					t.Errorf("lane %d: %v", n, err)
				}
				if got, err := f.Read(); err != nil || !reflect.DeepEqual(got.Lanes, want.Lanes) {
					t.Errorf("lane %d: Read() = %+v, %v, want %+v", n, got, err, want)
				}
			}
		})
	}
	all.Wait()
}

// What is torn, or another's place, stops the lane that it concerns: the directory's own stops all.
func TestTornAndMovedByLane(t *testing.T) {
	d := open(t, t.TempDir())
	write(t, d, contents(1))
	path := filepath.Join(d.Path(), "journal-2")
	must.Do(t, os.WriteFile(path, []byte("x"), 0o600))
	var torn *TornError
	if _, err := lane(t, d, 2).Read(); !errors.As(err, &torn) || torn.Path != path {
		t.Errorf("Read of a torn journal: %v, want a TornError for %s", err, path)
	}
	wantRead(t, d, contents(1))
	must.Do(t, lane(t, d, 2).Write(contents(2)))
	wantLane(t, d, 2, contents(2))

	must.Do(t, os.Remove(filepath.Join(d.Path(), lockName)))
	for n := range 3 {
		if err := lane(t, d, n).Write(contents(9)); !errors.Is(err, ErrMoved) {
			t.Errorf("lane %d: Write without the lock: %v, want ErrMoved", n, err)
		}
	}
	wantRead(t, d, contents(1))
}
