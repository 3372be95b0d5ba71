package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/process"
)

const (
	// longestSilence and longestLife end a life in which something hangs.
	longestSilence = time.Minute
	longestLife    = 5 * time.Minute
	longestStop    = time.Minute
	layoutName     = "flakeward"
)

type stressConfig struct {
	Binary  string // of the daemon
	Dir     string // is made
	Seed    uint64
	Clients int
	Plan    []life
	IDs     uint64   // the last life goes on until there are so many
	Flags   []string // for the daemons
	Log     io.Writer
}

// stress is daemons on one host, one after the other, and the clients that outlive them.
type stress struct {
	stressConfig
	host    *process.Host
	clients *clients
	judge   *received.Host
	found   findings
}

// newStress makes the host and the clients.
func newStress(ctx context.Context, c stressConfig) (*stress, error) {
	layout, err := generator.ParseLayout(layoutName)
	if err != nil {
		return nil, err
	}
	host, err := process.NewHost(c.Binary, c.Dir, append([]string{"--layout", layoutName}, c.Flags...)...)
	if err != nil {
		return nil, err
	}
	return &stress{
		stressConfig: c,
		host:         host,
		clients:      newClients(ctx, c.Clients, c.Seed),
		judge:        received.NewHost(layout),
		found:        findings{Seed: c.Seed, Clients: c.Clients},
	}, nil
}

// run lives all lives and compares the IDs. The error is that something did not work; broken
// promises are in the findings.
func (t *stress) run(ctx context.Context) (findings, error) {
	defer t.clients.close()
	for i, l := range t.Plan {
		if i == len(t.Plan)-1 && t.found.Counts.IDs() < t.IDs {
			l.After = max(l.After, t.IDs-t.found.Counts.IDs())
		}
		if err := t.live(ctx, uint32(i+1), l); err != nil {
			return t.found, fmt.Errorf("life %d: %w", i+1, err)
		}
	}
	t.found.Workers = t.judge.Workers()
	t.found.Duplicates = received.FindDuplicates(t.clients.all())
	if t.found.Duplicates.Repeated > 0 {
		t.found.Places = t.clients.places(t.found.Duplicates.Examples)
	}
	return t.found, nil
}

// live starts a daemon, ends it as planned, and judges what it leaves.
func (t *stress) live(ctx context.Context, number uint32, l life) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longestLife, errors.New("a life takes too long"))
	defer cancel()
	from := t.host.Clock.Offset()
	if l.Step == before {
		if err := t.host.Clock.Set(l.Offset); err != nil {
			return err
		}
	}
	daemon, err := t.host.Start(ctx)
	if err != nil {
		return err
	}
	defer func() {
		cancel() // whatever went wrong, nothing is left behind
		<-daemon.Ended()
	}()
	var served served
	if l.End == killedAtStart {
		if err := daemon.Await(ctx, l.At); err != nil {
			return err
		}
		if err := daemon.Kill(); err != nil {
			return err
		}
		t.found.StartKills++
	} else if served, err = t.serve(ctx, number, l, daemon); err != nil {
		tail := daemon.Tail()
		if errors.Is(err, errSilent) {
			daemon.Dump()
		}
		return fmt.Errorf("%w; the whole log is in %s and ends with\n%s", err, t.host.Log, tail)
	}
	t.found.note(l, served)
	verdict, err := t.judgeLife(number, l)
	if err != nil {
		return err
	}
	t.found.Verdict.Add(verdict)
	t.found.restart(number, l, from, served.FirstID)
	fmt.Fprintf(t.Log, "life %d of %d: clock %v, first ID after %v, %d IDs, %d violations\n", number, len(t.Plan),
		l.Offset.Round(time.Millisecond), served.FirstID.Round(time.Millisecond), verdict.IDs, verdict.Bad())
	return nil
}

// served is what the clients saw of a life.
type served struct {
	FirstID    time.Duration // from the start of the process; 0: none
	Counts     load.Counts
	Unanswered int // accepted requests that a daemon which was stopped has not answered
	Torn       int // replies that a daemon which was stopped has left half-sent
	Wrong      []string
}

// serve has the clients pull until it is time to end the daemon, ends it, and waits until all
// clients have noticed.
func (t *stress) serve(ctx context.Context, number uint32, l life, daemon *process.Daemon) (served, error) {
	var s served
	// The socket is there by then, and requests wait for what is still missing.
	if err := daemon.Await(ctx, joinedMessage); err != nil {
		return s, err
	}
	t.clients.pull(number, t.host.Socket)
	got := make([]uint64, len(t.clients.members))
	for moved, total := false, uint64(0); ; {
		if l.Step == during && !moved && total >= l.After/2 && total > 0 {
			if err := t.host.Clock.Set(l.Offset); err != nil {
				return s, err
			}
			moved = true
		}
		// A client that is to hold must have begun.
		if total >= l.After && (l.End != stopped || !slices.Contains(got, 0)) {
			break
		}
		r, err := t.clients.next(ctx)
		if err != nil {
			return s, fmt.Errorf("%w; it was to be ended after %d IDs, and the clients have %d", err, l.After, got)
		}
		if r.Ending != nil {
			return s, fmt.Errorf("client %d lost its connection to a daemon that should live: %+v", r.member, *r.Ending)
		}
		if s.FirstID == 0 {
			s.FirstID = time.Since(daemon.Begun)
		}
		total += r.Got - got[r.member]
		got[r.member] = r.Got
	}
	return s, t.endUnderLoad(ctx, l, daemon, &s)
}

// endUnderLoad ends a daemon. Of the clients of one that is stopped, every other has sent its last
// requests by then: those are accepted, so each must be answered. The others go on.
func (t *stress) endUnderLoad(ctx context.Context, l life, daemon *process.Daemon, s *served) error {
	held := make([]bool, len(t.clients.members))
	if l.End == stopped {
		for i := 0; i < len(held); i += 2 {
			t.clients.members[i].Hold()
		}
		for i := 0; i < len(held); i += 2 {
			for !held[i] {
				r, err := t.clients.next(ctx)
				if err != nil {
					return err
				}
				if r.Ending != nil {
					return fmt.Errorf("client %d lost its connection to a daemon that should live: %+v", r.member, *r.Ending)
				}
				held[r.member] = held[r.member] || r.Held
			}
		}
	}
	ended := make(chan error, 1)
	go func() {
		if l.End == stopped {
			ctx, cancel := context.WithTimeoutCause(ctx, longestStop, errors.New("a clean stop takes too long"))
			defer cancel()
			ended <- daemon.Stop(ctx)
		} else {
			ended <- daemon.Kill()
		}
	}()
	for left := len(held); left > 0; {
		r, err := t.clients.next(ctx)
		if err != nil {
			if errors.Is(err, errSilent) {
				daemon.Dump()
			}
			return errors.Join(err, <-ended)
		}
		if r.Ending == nil {
			continue
		}
		left--
		s.Counts.Add(r.Ending.Counts)
		if r.Ending.Wrong != "" {
			s.Wrong = append(s.Wrong, fmt.Sprintf("client %d: %s", r.member, r.Ending.Wrong))
		}
		if held[r.member] {
			s.Unanswered += r.Ending.Unanswered
		}
		if l.End == stopped && r.Ending.Torn {
			s.Torn++
		}
	}
	return <-ended
}

// judgeLife reads what the daemon left and judges the life.
func (t *stress) judgeLife(number uint32, l life) (received.Verdict, error) {
	dir, err := journal.OpenDir(t.host.StateDir, place.Host{})
	if err != nil {
		return received.Verdict{}, err
	}
	contents, err := dir.Read()
	if err = errors.Join(err, dir.Close()); err != nil {
		// Killed before its first claim there may be none.
		if l.End != killedAtStart || !errors.Is(err, journal.ErrNone) {
			return received.Verdict{}, err
		}
	}
	past := received.Life{Steady: l.Step != during, Journal: contents.Lanes}
	if l.End != killedAtStart {
		past.Connections = t.clients.of(number)
	}
	return t.judge.Judge(past), nil
}
