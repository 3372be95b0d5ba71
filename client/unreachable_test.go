package client_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/internal/must"
)

// Nobody listens: one goroutine dials, more and more seldom, as long as somebody waits.
func TestNobodyThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.goes(syscall.ECONNREFUSED)
		c := f.open()
		var group sync.WaitGroup
		begun := time.Now()
		for range 100 {
			group.Go(func() {
				_, err := c.Next(t.Context())
				var unreachable *client.UnreachableError
				if !errors.As(err, &unreachable) || unreachable.Socket != "fake" || !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), "start the daemon") {
					t.Errorf("%v", err)
				}
			})
		}
		group.Wait()
		if waited := time.Since(begun); waited < client.DefaultTimeout || waited > client.DefaultTimeout+time.Second {
			t.Errorf("they waited for %v", waited)
		}
		if n := len(f.dials); n < 10 || n > 30 {
			t.Errorf("%d dials", n)
		}
		<-time.After(time.Second) // the pause after the last of them
		n := len(f.dials)
		<-time.After(time.Hour)
		if len(f.dials) != n {
			t.Errorf("%d dials while nobody waited", len(f.dials)-n)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Take(ctx, 5)
		var unreachable *client.UnreachableError
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &unreachable) {
			t.Errorf("%v", err)
		}
		f.goes(nil)
		if id := nextID(t, c); id == 0 {
			t.Error("no ID though it is there now")
		}
	})
}

// What nobody but an operator can change is not waited for.
func TestHopeless(t *testing.T) {
	for _, down := range []error{fs.ErrPermission, syscall.EINVAL} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			f.goes(down)
			c := f.open()
			begun := time.Now()
			if _, err := c.Next(t.Context()); !errors.Is(err, down) || time.Since(begun) != 0 {
				t.Errorf("%v after %v", err, time.Since(begun))
			}
		})
	}
}

// A daemon that is started again is not noticed, except for the wait.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c := f.open(client.MaxAge(0))
		first := nextID(t, c)
		f.answers(func(a ask) (string, bool) { return "", a.number%3 != 0 }) // one of three is cut
		for range 20 {
			id := nextID(t, c)
			if id <= first {
				t.Errorf("%d after %d", id, first)
			}
			first = id
		}
		f.answers(nil)
		f.answers(func(ask) (string, bool) { f.goes(fs.ErrNotExist); return "*3\r\n:1\r\n", false })
		time.AfterFunc(2*time.Second, func() { f.answers(nil); f.goes(nil) })
		begun := time.Now()
		if nextID(t, c); time.Since(begun) < 2*time.Second {
			t.Error("an ID from a daemon that is gone")
		}
	})
}

// UNAVAILABLE is passed on to those whom the daemon had wait, and to nobody else.
func TestUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.reply = func(a ask) (string, bool) {
			if a.number > 1 {
				return "", true
			}
			<-time.After(2 * time.Second)
			return "-UNAVAILABLE the grant is used up; gave up after 2s, another 40ms would have been needed; try again later\r\n", true
		}
		c := f.open()
		var group sync.WaitGroup
		group.Go(func() {
			_, err := c.Next(t.Context())
			var unavailable *client.UnavailableError
			if !errors.As(err, &unavailable) || *unavailable != (client.UnavailableError{Reason: "the grant is used up", After: 2 * time.Second, Another: 40 * time.Millisecond}) {
				t.Errorf("%v", err)
			} else if want := "flakeward: the daemon has no IDs: the grant is used up; it gave up after 2s, another 40ms would have been needed; try again later"; err.Error() != want {
				t.Errorf("%v", err)
			}
		})
		group.Go(func() {
			<-time.After(time.Second)
			if _, err := c.Next(t.Context()); err != nil {
				t.Errorf("one that came later: %v", err)
			}
		})
		group.Wait()
		if len(f.dials) != 1 {
			t.Errorf("%d dials", len(f.dials))
		}
	})
}

func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.reply = func(ask) (string, bool) { return "-ERR the tenant '9' is not a whole number from 0 to 7\r\n", true }
		c := f.open(client.Tenant(9))
		_, err := c.Next(t.Context())
		var refused *client.RefusedError
		if !errors.As(err, &refused) || refused.Code != "ERR" || !strings.Contains(err.Error(), "the tenant '9'") {
			t.Errorf("%v", err)
		}
		f.answers(nil)
		nextID(t, c)
		if len(f.dials) != 1 {
			t.Errorf("%d dials", len(f.dials))
		}
	})
}

// A daemon that hangs holds nobody longer than the context, and what it answers in the end is for
// nobody who came since.
func TestHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		go_ := make(chan struct{})
		f.reply = func(a ask) (string, bool) {
			if a.number == 1 {
				<-go_
			}
			return "", true
		}
		c := f.open()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if _, err := c.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v with a context that has ended", err)
		}
		begun := time.Now()
		time.AfterFunc(time.Minute, func() { close(go_) })
		if id := nextID(t, c); f.drawnFor(id).Before(begun) || len(f.asks) != 2 {
			t.Errorf("asked for at %v, the call began at %v; %d requests", f.drawnFor(id), begun, len(f.asks))
		}
	})
}

// Close ends everything: a synctest bubble fails if a goroutine is left.
func TestClose(t *testing.T) {
	for name, prepare := range map[string]func(*fake){
		"waiting": func(f *fake) { f.reply = func(ask) (string, bool) { <-time.After(time.Hour); return "", true } },
		"cannot":  func(f *fake) { f.down = syscall.ECONNREFUSED },
		"unused":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				c := f.open()
				calls := func() {
					_, next := c.Next(t.Context())
					_, take := c.Take(t.Context(), 100)
					if !errors.Is(next, client.ErrClosed) || !errors.Is(take, client.ErrClosed) {
						t.Errorf("%v, %v", next, take)
					}
				}
				var group sync.WaitGroup
				if prepare != nil {
					prepare(f)
					for range 5 {
						group.Go(calls)
					}
				}
				<-time.After(time.Second)
				must.Do(t, c.Close(), c.Close())
				group.Wait()
				calls()
			})
		})
	}
}
