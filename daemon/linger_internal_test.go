package daemon

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// eager is a clock on which nobody sleeps: it tells for how long somebody would have.
type eager struct {
	clockguard.System
	slept chan time.Duration
}

func (e eager) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case e.slept <- d:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// narrow listens on a socket whose queue has room for one who connects.
func narrow(t *testing.T) (l net.Listener, path string) {
	t.Helper()
	path = filepath.Join(sockettest.Dir(t), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must.Do(t, err)
	f := os.NewFile(uintptr(fd), path)
	defer f.Close() // the listener has its own
	err = errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Listen(fd, 0))
	if err == nil {
		l, err = net.FileListener(f)
	}
	must.Do(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l, path
}

// answer accepts one connection, and answers its PING. The connection stays open.
func answer(l net.Listener, reply string) (net.Conn, error) {
	c, err := l.Accept()
	if err == nil {
		if _, err = bufio.NewReader(c).ReadString('\n'); err == nil {
			_, err = io.WriteString(c, reply)
		}
	}
	return c, err
}

// waiting waits for the socket's end on an eager clock.
func waiting(t *testing.T, path string, silence time.Duration) (slept <-chan time.Duration, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	clock, end := eager{slept: make(chan time.Duration)}, make(chan error, 1)
	var running sync.WaitGroup
	running.Go(func() { end <- served{path, clock, silence}.wait(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return clock.slept, end
}

// Where a service manager holds the listening socket, too, one can connect to it when nobody
// serves. A newcomer that has died is noticed all the same.
func TestASocketThatNobodyAnswersOnIsNotServed(t *testing.T) {
	for name, full := range map[string]bool{"room in the queue": false, "a full queue": true} {
		t.Run(name, func(t *testing.T) {
			_, path := narrow(t)
			if full {
				other := must.Get(net.Dial("unix", path))(t)
				defer other.Close() // the test is over
			}
			slept, ended := waiting(t, path, 100*time.Millisecond)
			for {
				select {
				case <-slept:
					continue
				case err := <-ended:
					if want := "nobody has answered"; !full && (err == nil || !strings.Contains(err.Error(), want)) {
						t.Errorf("it ends with %v, want: %s", err, want)
					} else if full && !errors.Is(err, syscall.EAGAIN) {
						t.Errorf("it ends with %v, want %v", err, syscall.EAGAIN)
					}
				case <-time.After(time.Minute):
					t.Error("it waits on")
				}
				return
			}
		})
	}
}

// Who cannot connect as the queue is full asks again, and so does who was cut off unanswered.
func TestASocketWithAFullQueueIsServed(t *testing.T) {
	l, path := narrow(t)
	other := must.Get(net.Dial("unix", path))(t)
	defer other.Close() // the test is over
	slept, ended := waiting(t, path, time.Minute)
	for range 2 {
		select {
		case <-slept:
		case err := <-ended:
			t.Fatalf("with a full queue, it ends with %v", err)
		}
	}
	answered := make(chan error, 1)
	var answering sync.WaitGroup
	answering.Go(func() {
		var errs []error
		for range 2 { // the one that fills the queue, and then the one that asks
			c, err := l.Accept()
			if errs = append(errs, err); err == nil {
				_ = c.Close()
			}
		}
		c, err := answer(l, "+PONG\r\n")
		_ = l.Close() // the end, before that of the connection
		if errs = append(errs, err); c != nil {
			_ = c.Close()
		}
		answered <- errors.Join(errs...)
	})
	defer answering.Wait()
	for {
		select {
		case <-slept:
		case err := <-ended:
			if e := <-answered; e != nil || !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("it ends with %v, and was answered with %v", err, e)
			}
			return
		}
	}
}

// Who is refused knows that somebody serves, and asks less and less often.
func TestARefusalIsAskedAboutLessAndLess(t *testing.T) {
	l, path := narrow(t)
	slept, ended := waiting(t, path, time.Minute)
	round := func(reply string) time.Duration {
		t.Helper()
		c := must.Get(answer(l, reply))(t)
		_ = c.Close()
		select {
		case d := <-slept:
			return d
		case err := <-ended:
			t.Fatalf("after %q it ends with %v", reply, err)
			return 0
		}
	}
	var got []time.Duration
	for range 9 {
		got = append(got, round("-ERR too many connections: the limit is 1\r\n"))
	}
	got = append(got, round("+PONG\r\n"))
	want := []time.Duration{askSoon, 2 * askSoon, 4 * askSoon, 8 * askSoon, 16 * askSoon, 32 * askSoon, 64 * askSoon, askLate, askLate, askSoon}
	if !slices.Equal(got, want) {
		t.Errorf("it waits %v, want %v", got, want)
	}
}
