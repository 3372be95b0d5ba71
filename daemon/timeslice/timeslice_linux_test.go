package timeslice

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/must"
)

// All threads of the process have short slices, those that start afterwards too, and nothing else
// of how they are scheduled changes.
func TestSlicesAreShort(t *testing.T) {
	before := must.Get(unix.SchedGetAttr(0, 0))(t)
	if before.Runtime == 0 {
		t.Skip("this kernel has no slices of a thread's own")
	}
	must.Do(t, Request())
	must.Do(t, Request()) // changes nothing
	seen := make(chan unix.SchedAttr)
	end := make(chan struct{})
	const threads = 50
	for range threads {
		go func() {
			runtime.LockOSThread()
			of, err := unix.SchedGetAttr(0, 0)
			if err != nil {
				t.Error(err)
				of = &unix.SchedAttr{}
			}
			seen <- *of
			<-end // so that each has a thread of its own
		}()
	}
	want := *before
	want.Runtime = uint64(length)
	for range threads {
		if got := <-seen; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	close(end)
}
