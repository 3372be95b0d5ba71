package ask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/internal/wire"
)

// asker asks in one way, over one connection at a time.
type asker struct {
	way
	config      Config
	connections *atomic.Uint32
	record      func(evidence.Reply)

	conn    net.Conn // nil: none
	number  uint32   // of the connection, or of the last one
	replies *wire.Reader
	out     []byte      // the pipeline
	ints    []int64     // scratch
	pairs   []wire.Pair // scratch
}

// run asks until ctx ends, first after the given time. One that was held up goes on from where it
// is: it does not catch up.
func (a *asker) run(ctx context.Context, first time.Duration) {
	a.out = bytes.Repeat(a.request, a.requests)
	due := time.Now().Add(first)
	timer := time.NewTimer(first)
	defer timer.Stop()
	defer a.hangUp()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		well := a.ask(ctx)
		now := time.Now()
		due = a.next(due, now, well)
		timer.Reset(due.Sub(now))
	}
}

// next is when to ask again after what was due at due and is over now.
func (a *asker) next(due, now time.Time, well bool) time.Time {
	if !well {
		return now.Add(a.retry)
	}
	if due = due.Add(a.every); due.Before(now) {
		return now
	}
	return due
}

// ask sends what is sent at once and reads its replies. It returns whether all requests got what
// they asked for.
func (a *asker) ask(ctx context.Context) bool {
	r := evidence.Reply{Asking: a.asking, Asked: evidence.Now()}
	if err := a.connect(); err != nil {
		a.put(r, evidence.Unsent, err.Error())
		return false
	}
	_ = a.conn.SetDeadline(time.Now().Add(timeout)) // an error is met again below
	if n, err := a.conn.Write(a.out); err != nil {
		a.unsent(r, n, err)
		return false
	}
	// At the end the replies are awaited for the grace only, not for the whole timeout.
	conn := a.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now().Add(grace)) })
	defer stop()
	well := true
	for i := range a.requests {
		var refused wire.Refused
		runs, err := a.reply()
		switch {
		case err == nil:
			r.IDs = runs
			a.put(r, evidence.Got, "")
			r.IDs = nil
			continue
		case errors.As(err, &refused):
			a.put(r, evidence.Refused, string(refused))
		case errors.Is(err, errWrong):
			a.put(r, evidence.Refused, err.Error())
		case errors.Is(err, wire.ErrFrame): // nobody knows where the next reply begins
			a.put(r, evidence.Refused, fmt.Errorf("%w: %w", errWrong, err).Error())
			a.lost(r, a.requests-i-1, errors.New("the reply before it could not be read"))
			return false
		default:
			a.lost(r, a.requests-i, err)
			return false
		}
		well = false
	}
	return well
}

func (a *asker) connect() error {
	if a.conn != nil {
		return nil
	}
	conn, err := net.DialTimeout("unix", a.config.Socket, timeout)
	if err != nil {
		return err
	}
	a.conn, a.replies, a.number = conn, wire.NewReader(conn), a.connections.Add(1)
	return nil
}

func (a *asker) hangUp() {
	if a.conn != nil {
		_ = a.conn.Close()
		a.conn = nil
	}
}

// unsent records a pipeline of which only so many bytes could be written. Nothing is outstanding
// when one is sent, and the kernel takes nothing for a peer that has closed a Unix socket: without
// a byte written no daemon has seen, or will see, any of it.
func (a *asker) unsent(r evidence.Reply, written int, err error) {
	begun := (written + len(a.request) - 1) / len(a.request)
	var refused wire.Refused
	if _, last := a.replies.Int(); errors.As(last, &refused) { // the daemon may have said why
		err = fmt.Errorf("%w; before that came: %s", err, string(refused))
	}
	a.lost(r, begun, err)
	if begun < a.requests {
		a.put(r, evidence.Unsent, err.Error())
	}
}

// Unread begins the text of a request that was lost with a reset. On a Unix socket that is what the
// kernel says when a peer has closed it, or was killed, with something of what was sent to it
// unread. Requests that are sent at once are read at once: if none of them got a reply, the daemon
// did not see them.
const Unread = "closed unread: "

// lost records that requests got no reply, and gives the connection up.
func (a *asker) lost(r evidence.Reply, requests int, err error) {
	text := err.Error()
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		text = Unread + text
	case errors.Is(err, os.ErrDeadlineExceeded):
		text = "given up: " + text
	}
	for range requests {
		a.put(r, evidence.Lost, text)
	}
	a.hangUp()
}

// maxText is how much is kept of what a daemon has to say, in bytes.
const maxText = 1000

// put records one request that was answered just now.
func (a *asker) put(r evidence.Reply, outcome evidence.Outcome, text string) {
	r.Connection, r.Answered, r.Outcome, r.Text = a.number, evidence.Now(), outcome, text[:min(len(text), maxText)]
	a.record(r)
}
