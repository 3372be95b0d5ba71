package client

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/internal/wire"
)

// written asks for UUIDs, which the daemon writes, on a connection that is made when it is needed.
type written struct {
	turn chan struct{} // has room for the one call that asks
	link *link         // of whoever has the turn; nil: there is none
}

func newWritten() written { return written{turn: make(chan struct{}, 1)} }

// close ends the connection. All calls have ended by then, or are about to, as c.ctx has.
func (w *written) close() {
	w.turn <- struct{}{}
	w.drop()
	<-w.turn
}

func (w *written) drop() {
	if w.link != nil {
		_ = w.link.conn.Close()
		w.link = nil
	}
}

// take asks for n UUIDs. It tries again as long as Next would.
func (w *written) take(ctx context.Context, c *Client, n int) ([]string, error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-within.Done():
		return nil, cut(ctx, nil)
	}
	all := make([]string, 0, n)
	begun, failures := time.Now(), 0
	for len(all) < n {
		if ctx.Err() != nil || c.ctx.Err() != nil { // within may follow a little later
			return nil, cut(ctx, nil)
		}
		more, err := w.ask(within, c, n-len(all))
		if err == nil {
			all, failures = append(all, more...), 0
			continue
		}
		var refused *RefusedError
		var unavailable *UnavailableError
		switch {
		case within.Err() != nil:
			w.drop()
			return nil, cut(ctx, err)
		case errors.As(err, &unavailable), errors.As(err, &refused) && w.link != nil:
			return nil, err // the connection goes on
		}
		worked := w.link != nil && w.link.replied
		w.drop()
		if worked {
			continue // its end is noticed no earlier than this if the daemon was started again
		}
		if failures++; hopeless(err) || time.Since(begun) >= c.timeout {
			return nil, err
		}
		select {
		case <-time.After(delay(failures, 0.5)):
		case <-within.Done():
		}
	}
	return all, nil
}

// ask makes one request, for at most n IDs, and connects before if there is no connection.
func (w *written) ask(ctx context.Context, c *Client, n int) ([]string, error) {
	if w.link == nil {
		l, err := connect(ctx, c)
		if err != nil {
			return nil, err
		}
		w.link = l
	}
	l := w.link
	n = int(min(int64(n), l.largest()))
	l.next = 0
	defer context.AfterFunc(ctx, func() { _ = l.conn.SetDeadline(time.Unix(1, 0)) })()
	words := []string{"NEXT", strconv.Itoa(n)}
	if c.tenant != "" {
		words = append(words, "TENANT", c.tenant)
	}
	var all []string
	err := l.in.Send(l.conn, wire.AppendCommand(nil, append(words, "AS", UUID.String())...))
	if err == nil {
		all, err = l.in.IDs(n)
	}
	var refusal wire.Refused
	switch {
	case err == nil:
		l.replied = true
	case errors.As(err, &refusal) && l.lower(refusal, int64(n)):
		err = nil
	default:
		err = c.means(err, broke)
	}
	return all, err
}

// cut is the error for a call that ended with its context, or with the client.
func cut(ctx context.Context, last error) error {
	if ctx.Err() == nil {
		return ErrClosed
	}
	return noID(ctx, last)
}
