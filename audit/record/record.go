// Package record writes down what a daemon does, each thing before anybody can act on it, for
// package audit to judge. What cannot be written does not happen: the IDs are thrown away, and
// the coordinator's answer becomes an error. It stands around a daemon's source and coordinator
// in drill builds and in the simulation; a normal build does not have it.
package record

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
)

// Log writes an event down, when it has set its instant. It may be called from any goroutine.
type Log func(evidence.Event) error

// Source returns a source that hands out what s does, when it is written down. Step is between the
// IDs of a run.
func Source(s resp.Source, step int64, log Log) resp.Source { return source{s, step, log} }

type source struct {
	resp.Source
	step int64
	log  Log
}

// Take hands out what has been written down.
func (s source) Take(c *issue.Connection, tenant uint32, n int) (generator.Run, issue.Wait) {
	run, wait := s.Source.Take(c, tenant, n)
	if run.N == 0 {
		return run, wait
	}
	e := evidence.Event{Kind: evidence.Issued, Run: evidence.Run{First: run.First, Step: s.step, N: run.N}}
	if err := s.log(e); err != nil {
		return generator.Run{}, issue.Wait{Err: err}
	}
	return run, wait
}

// Coordinator returns a coordinator that lends what c does, when it is written down. Each write to
// a record is written down before it is sent as well.
func Coordinator(c coord.Coordinator, log Log) coord.Coordinator {
	return coordinator{c, &calls{log: log}}
}

// calls numbers the calls of one start of a daemon.
type calls struct {
	log  Log
	last atomic.Uint64
}

// call is one call on the coordinator.
type call struct {
	*calls
	began evidence.Event
}

// begin writes down that a call begins.
func (c *calls) begin(e evidence.Event) (call, error) {
	e.Call = c.last.Add(1)
	return call{c, e}, c.log(e)
}

// failed writes down how the call ended, and returns its error.
func (c call) failed(err error) error {
	how := evidence.Unclear
	if errors.Is(err, coord.ErrLost) {
		how = evidence.Denied
	}
	if unwritten := c.ended(how); unwritten != nil {
		return errors.Join(err, unwritten)
	}
	return err
}

// ended writes down that the call ended without success.
func (c call) ended(how evidence.Ending) error {
	return c.log(evidence.Event{Kind: evidence.Failed, Call: c.began.Call, Worker: c.began.Worker, Opening: c.began.Opening, Ending: how})
}

// done writes down that the call succeeded.
func (c call) done(e evidence.Event) error {
	e.Call, e.Worker = c.began.Call, c.began.Worker
	return c.log(e)
}

type coordinator struct {
	coord.Coordinator
	calls *calls
}

// Claim hands over a claim when it has been written down. One that could not be stays until its
// session ends, as after any error. Each opening is a call of its own: where another is tried,
// others were faster.
func (c coordinator) Claim(ctx context.Context, r coord.Request) (coord.Claim, error) {
	var opening *call // that is under way
	before := r.Before
	r.Before = func(worker int) error {
		if before != nil {
			if err := before(worker); err != nil {
				return err
			}
		}
		if raced := opening; raced != nil {
			opening = nil
			if err := raced.ended(evidence.Denied); err != nil {
				return err
			}
		}
		if worker == coord.AnyWorker {
			return nil
		}
		began, err := c.calls.begin(evidence.Event{Kind: evidence.Claiming, Worker: worker})
		if err == nil {
			opening = &began
		}
		return err
	}
	held, err := c.Coordinator.Claim(ctx, r)
	last := opening
	opening = nil // the claim asks Before when it makes its node again
	switch {
	case err != nil && last != nil:
		return nil, last.failed(err)
	case err != nil:
		return nil, err
	}
	if err := last.done(evidence.Event{Kind: evidence.Claimed, Opening: held.Opening(), Floor: held.Floor()}); err != nil {
		return nil, err
	}
	return &claim{held, c.calls}, nil
}

// claim is compared by its address, as claims are.
type claim struct {
	coord.Claim
	calls *calls
}

func (c *claim) begin(e evidence.Event) (call, error) {
	e.Worker, e.Opening = c.Worker(), c.Opening()
	return c.calls.begin(e)
}

// Extend tells of a ceiling when it has been written down. Otherwise the outcome is as good as
// unknown.
func (c *claim) Extend(ctx context.Context, p coord.Progress) error {
	call, err := c.begin(evidence.Event{Kind: evidence.Extending, Ceiling: p.Ceiling, Issued: p.Issued})
	if err != nil {
		return err
	}
	if err := c.Claim.Extend(ctx, p); err != nil {
		return call.failed(err)
	}
	return call.done(evidence.Event{Kind: evidence.Extended, Opening: c.Opening(), Ceiling: p.Ceiling})
}

// Release writes down that the lane has been closed, and then that its record was lowered.
func (c *claim) Release(ctx context.Context, last generator.Last) error {
	call, err := c.begin(evidence.Event{Kind: evidence.Releasing, Last: last.Or(0)})
	if err != nil {
		return err
	}
	if err := c.Claim.Release(ctx, last); err != nil {
		return call.failed(err)
	}
	return call.done(evidence.Event{Kind: evidence.Released, Opening: c.Opening(), Last: last.Or(0)})
}
