package dir

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
)

// patience is how long a request is waited for after its context has ended. One that waits for the
// lock ends then and says who has it; one that waits for the disk cannot be ended.
const patience = 500 * time.Millisecond

// ask runs do on the locked directory and waits for it as long as ctx says. What comes after that
// takes place all the same, and nobody learns of it.
func ask[T any](ctx context.Context, s *store, what string, do func(*directory) (T, error)) (T, error) {
	var none T
	answered := make(chan answer[T], 1)
	err := s.begin(ctx, func(ctx context.Context) {
		var a answer[T]
		send := func() error {
			return s.locked(ctx, func(d *directory) (err error) {
				a.value, err = do(d)
				return err
			})
		}
		if s.through == nil {
			a.err = send()
		} else {
			a.err = s.through(send)
		}
		answered <- a
	})
	if err == nil {
		a := wait(ctx, answered)
		if moved := (*claims.MovedError)(nil); a.err == nil || errors.As(a.err, &moved) {
			return a.value, a.err
		}
		err = a.err
	}
	return none, fmt.Errorf("%s: %s: %w", s.Name(), what, err)
}

type answer[T any] struct {
	value T
	err   error
}

// begin runs do beside, until ctx ends or the store is closed.
func (s *store) begin(ctx context.Context, do func(context.Context)) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	switch {
	case s.closed:
		return coord.ErrClosed
	case ctx.Err() != nil:
		return fmt.Errorf("not tried: %w", ctx.Err())
	}
	limited, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	s.running.Go(func() {
		defer cancel()
		defer stop()
		do(limited)
	})
	return nil
}

// wait waits for an answer as long as ctx says.
func wait[T any](ctx context.Context, answered <-chan answer[T]) answer[T] {
	select {
	case a := <-answered:
		return a
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	select {
	case a := <-answered:
		return a
	case <-late.Done():
		return answer[T]{err: fmt.Errorf("the disk has not answered: %w", ctx.Err())}
	}
}

// fenced is ask in the directory of the cluster that has the cluster record.
func fenced[T any](ctx context.Context, s *store, what string, layout claims.Entry, do func(*directory) (T, error)) (T, error) {
	value, err := ask(ctx, s, what, func(d *directory) (T, error) {
		if err := s.fence(d, layout); err != nil {
			return *new(T), err
		}
		return do(d)
	})
	if elsewhere := (*elsewhereError)(nil); errors.As(err, &elsewhere) {
		err = &claims.MovedError{Found: elsewhere.found, Restored: &coord.RestoredError{Why: elsewhere.Error()}}
	}
	return value, err
}

// locked runs do while nobody else reads or writes the directory.
func (s *store) locked(ctx context.Context, do func(*directory) error) error {
	if err := s.mutex.LockContext(ctx); err != nil {
		return fmt.Errorf("an earlier request is not done: %w", err)
	}
	defer s.mutex.Unlock()
	if s.dir == nil {
		d, err := s.open()
		if err != nil {
			return err
		}
		s.dir = d
		s.opened.Store(&d.info)
	}
	d := s.dir
	if err := d.lock(ctx); err != nil {
		if s.life.Err() != nil {
			return coord.ErrClosed
		}
		return err
	}
	defer d.unlock()
	if err := d.same(); err != nil {
		return err
	}
	err := do(d)
	if errors.Is(err, errUnsynced) {
		s.endSession()
	}
	return err
}
