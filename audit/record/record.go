// Package record writes down what a daemon does, each thing before anybody can act on it, for
// package audit to judge. What cannot be written does not happen: the IDs are thrown away, and
// the coordinator's answer becomes an error. It stands around a daemon's source and coordinator
// in drill builds and in the simulation; a normal build does not have it.
package record

import (
	"context"

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
	e := evidence.Event{Kind: evidence.Issued, Lane: c.Lane(), Run: evidence.Run{First: run.First, Step: s.step, N: run.N}}
	if err := s.log(e); err != nil {
		return generator.Run{}, issue.Wait{Err: err}
	}
	return run, wait
}

// Coordinator returns a coordinator that lends what c does, when it is written down.
func Coordinator(c coord.Coordinator, log Log) coord.Coordinator {
	recorded := coordinator{c, log}
	if f, ok := c.(failing); ok {
		return failingCoordinator{recorded, f}
	}
	return recorded
}

// failing is a coordinator in this process.
type failing interface{ Failed() <-chan struct{} }

type failingCoordinator struct {
	coordinator
	failing
}

type coordinator struct {
	coord.Coordinator
	log Log
}

func (c coordinator) Claim(ctx context.Context, r coord.Request) (coord.Pending, error) {
	p, err := c.Coordinator.Claim(ctx, r)
	if err != nil {
		return nil, err
	}
	return pending{p, r.Lane, c.log}, nil
}

type pending struct {
	coord.Pending
	lane int
	log  Log
}

// Open hands over the claim when it has been written down. One that could not be lingers, as after
// any error.
func (p pending) Open(ctx context.Context) (coord.Claim, error) {
	held, err := p.Pending.Open(ctx)
	if err != nil {
		return nil, err
	}
	return claimed(evidence.Claimed, held, p.lane, p.log)
}

// claimed hands over a claim when it has been written down.
func claimed(how evidence.Kind, held coord.Claim, lane int, log Log) (coord.Claim, error) {
	e := evidence.Event{Kind: how, Lane: lane, Worker: held.Worker(), Opening: held.Opening(), Continues: held.Continues(), Floor: held.Floor()}
	if err := log(e); err != nil {
		return nil, err
	}
	return &claim{held, lane, log}, nil
}

// claim is compared by its address, as claims are.
type claim struct {
	coord.Claim
	lane int
	log  Log
}

func (c *claim) add(e evidence.Event) error {
	e.Lane, e.Worker, e.Opening = c.lane, c.Worker(), c.Opening()
	return c.log(e)
}

// Reopen is another claim's opening.
func (c *claim) Reopen(ctx context.Context, at, latest generator.Tick) (coord.Claim, error) {
	next, err := c.Claim.Reopen(ctx, at, latest)
	if err != nil {
		return nil, err
	}
	return claimed(evidence.Reopened, next, c.lane, c.log)
}

// Extend tells of a ceiling when it has been written down. Otherwise the outcome is as good as
// unknown.
func (c *claim) Extend(ctx context.Context, p coord.Progress) error {
	if err := c.Claim.Extend(ctx, p); err != nil {
		return err
	}
	return c.add(evidence.Event{Kind: evidence.Extended, Ceiling: p.Ceiling})
}

// Release writes down that the lane has been closed, and then that its record was lowered.
func (c *claim) Release(ctx context.Context, last generator.Tick) error {
	if err := c.add(evidence.Event{Kind: evidence.Releasing, Last: last}); err != nil {
		return err
	}
	if err := c.Claim.Release(ctx, last); err != nil {
		return err
	}
	return c.add(evidence.Event{Kind: evidence.Released, Last: last})
}
