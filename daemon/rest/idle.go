package rest

import (
	"container/list"
	"context"
	"net"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

// idlers closes connections that ask for nothing for too long. net/http could do that, but its HTTP/2
// starts its timer once more for a connection that closes while a request waits, and keeps all that it
// had of the connection until the timer fires.
type idlers struct {
	clock  clockguard.Clock
	after  time.Duration
	ctx    context.Context // ends with close
	cancel context.CancelFunc
	sleeps sync.WaitGroup

	mu       sync.Mutex
	of       map[net.Conn]*idler
	idle     list.List // of *idler, who has been idle for longest first; some ask again
	sleeping bool      // the goroutine runs
}

// idler is a connection that has been idle at least once.
type idler struct {
	conn  net.Conn
	at    *list.Element // its place in the list; nil: in none
	since clockguard.Mono
	asks  bool // for something, by now
	told  bool // that it is to end
}

// leaver is a connection whose client can be told to send no request any more. GoAway reports whether it
// was.
type leaver interface{ GoAway() bool }

// farewell is how long a client has that was told.
const farewell = time.Second

func newIdlers(clock clockguard.Clock, after time.Duration) *idlers {
	a := &idlers{clock: clock, after: after, of: make(map[net.Conn]*idler)}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// is notes whether a connection asks for nothing from now on.
func (a *idlers) is(c net.Conn, idle bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := a.of[c]
	if i != nil {
		i.asks = !idle
	}
	if !idle || a.ctx.Err() != nil {
		return
	}
	if i == nil {
		i = &idler{conn: c}
		a.of[c] = i
	}
	if i.since = a.clock.Now().Mono; i.at == nil {
		i.at = a.idle.PushBack(i)
	} else {
		a.idle.MoveToBack(i.at)
	}
	if !a.sleeping {
		a.sleeping = true
		a.sleeps.Go(a.run)
	}
}

// gone forgets a connection.
func (a *idlers) gone(c net.Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := a.of[c]; i != nil {
		a.forget(i)
		delete(a.of, c)
	}
}

func (a *idlers) forget(i *idler) {
	if i.at != nil {
		a.idle.Remove(i.at)
		i.at = nil
	}
}

// run closes who has been idle for too long, until nobody is idle.
func (a *idlers) run() {
	for {
		late, wait := a.late()
		for _, c := range late {
			_ = c.Close()
		}
		if wait == 0 || a.clock.Sleep(a.ctx, wait) != nil {
			return
		}
	}
}

// late takes out who has been idle for too long, and returns how long it takes until the next one has;
// 0: nobody else is idle. Who can be told so is told first, as a request may be on its way.
func (a *idlers) late() (all []net.Conn, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now().Mono
	var next *list.Element
	for e := a.idle.Front(); e != nil; e = next {
		next = e.Next()
		i := e.Value.(*idler)
		if i.asks {
			a.forget(i)
			continue
		}
		left := a.after - now.Sub(i.since)
		if g, ok := i.conn.(leaver); left <= 0 && ok && !i.told && g.GoAway() {
			i.told, i.since, left = true, now+clockguard.Mono(farewell-a.after), farewell
		}
		if left <= 0 {
			a.forget(i)
			all = append(all, i.conn)
			continue
		}
		if wait == 0 || left < wait {
			wait = left
		}
		if !i.told {
			break // the others have been idle for less long
		}
	}
	a.sleeping = wait > 0
	return all, wait
}

// close ends the goroutine, and returns once it has ended.
func (a *idlers) close() {
	a.cancel()
	a.sleeps.Wait()
}
