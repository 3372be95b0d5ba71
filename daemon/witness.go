//go:build drill

package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/e2e/evidence"
	"github.com/flakeward/flakeward/generator"
)

// EvidenceVariable names the environment variable that holds the directory where a drill build writes down what it
// does: one log of package evidence for each start. Without it nothing is written.
const EvidenceVariable = "FLAKEWARD_DRILL_EVIDENCE"

// witness writes down what a daemon does, each thing before anybody can act on it. What cannot be written does not
// happen: the IDs are thrown away, the coordinator's answer becomes an error.
type witness struct {
	events *evidence.Events // nil: nothing is written
	step   int64            // between the IDs of a run
	log    hclog.Logger
	said   *sync.Once
}

// testify opens the log of this start.
func (d *Daemon) testify() (witness, error) {
	dir := os.Getenv(EvidenceVariable)
	if dir == "" {
		return witness{}, nil
	}
	now := evidence.Now()
	// Of equal length, so that names sort by time.
	events, err := evidence.OpenEvents(filepath.Join(dir, fmt.Sprintf("%020d-%s.events", now, d.identity().Incarnation)))
	if err != nil {
		return witness{}, fmt.Errorf("$%s: %w", EvidenceVariable, err)
	}
	err = events.Add(evidence.Event{At: now, Kind: evidence.Began, Host: d.config.Host, Incarnation: d.identity().Incarnation, Layout: d.layout.String()})
	if err != nil {
		return witness{}, errors.Join(err, events.Close())
	}
	return witness{events: events, step: d.layout.Step(), log: d.log.Named("witness"), said: new(sync.Once)}, nil
}

func (w witness) close() error {
	if w.events == nil {
		return nil
	}
	return w.events.Close()
}

// add writes e down. Its failure is final, and said once.
func (w witness) add(e evidence.Event) error {
	e.At = evidence.Now()
	err := w.events.Add(e)
	if err != nil {
		w.said.Do(func() {
			w.log.Error("the evidence of this drill cannot be written: nothing is issued any more", "error", err)
		})
	}
	return err
}

func (w witness) source(s resp.Source) resp.Source {
	if w.events == nil {
		return s
	}
	return witnessedSource{s, w}
}

type witnessedSource struct {
	resp.Source
	witness witness
}

// Take hands out what has been written down.
func (s witnessedSource) Take(t *issue.Ticket, tenant uint32, n int) (generator.Run, issue.Wait) {
	run, wait := s.Source.Take(t, tenant, n)
	if run.N == 0 {
		return run, wait
	}
	e := evidence.Event{Kind: evidence.Issued, Run: evidence.Run{First: run.First, Step: s.witness.step, N: run.N}}
	if err := s.witness.add(e); err != nil {
		return generator.Run{}, issue.Wait{Err: err}
	}
	return run, wait
}

func (w witness) coordinator(c coord.Coordinator) coord.Coordinator {
	if w.events == nil {
		return c
	}
	witnessed := witnessedCoordinator{c, w}
	if f, ok := c.(failing); ok {
		return witnessedFailing{witnessed, f}
	}
	return witnessed
}

// failing is a coordinator in this process.
type failing interface{ Failed() <-chan struct{} }

type witnessedFailing struct {
	witnessedCoordinator
	failing
}

type witnessedCoordinator struct {
	coord.Coordinator
	witness witness
}

// Claim hands over the claim when it has been written down. One that could not be lingers, as after any error.
func (c witnessedCoordinator) Claim(ctx context.Context, r coord.Request) (coord.Claim, error) {
	claim, err := c.Coordinator.Claim(ctx, r)
	if err != nil {
		return claim, err
	}
	e := evidence.Event{Kind: evidence.Claimed, Worker: claim.Worker(), Opening: claim.Opening(), Continues: claim.Continues(), Floor: claim.Floor()}
	if err := c.witness.add(e); err != nil {
		return nil, err
	}
	return &witnessedClaim{claim, c.witness}, nil
}

// witnessedClaim is compared by its address, as claims are.
type witnessedClaim struct {
	coord.Claim
	witness witness
}

func (c *witnessedClaim) add(e evidence.Event) error {
	e.Worker, e.Opening = c.Worker(), c.Opening()
	return c.witness.add(e)
}

// Extend tells of a ceiling when it has been written down. Otherwise the outcome is as good as unknown.
func (c *witnessedClaim) Extend(ctx context.Context, p coord.Progress) error {
	if err := c.Claim.Extend(ctx, p); err != nil {
		return err
	}
	return c.add(evidence.Event{Kind: evidence.Extended, Ceiling: p.Ceiling})
}

// Release writes down that the lane has been closed, and then that its record was lowered.
func (c *witnessedClaim) Release(ctx context.Context, last generator.Tick) error {
	if err := c.add(evidence.Event{Kind: evidence.Releasing, Last: last}); err != nil {
		return err
	}
	if err := c.Claim.Release(ctx, last); err != nil {
		return err
	}
	return c.add(evidence.Event{Kind: evidence.Released, Last: last})
}
