package grant_test

import (
	"context"
	"errors"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/internal/must"
)

// lanes is one start of a daemon with several lanes: holders that share a state directory, a
// coordinator and what they know to be issued.
type lanes struct {
	*host
	all       []*process
	lifecycle *lifecycle.Lifecycle
	dir       *journal.Dir
	coord     *faulty
	cluster   string
	inherited lifecycle.Inherited
}

// bootLanes starts a process with n lanes as far as the journals.
func (h *host) bootLanes(n int) *lanes {
	h.t.Helper()
	dir := must.Get(journal.OpenDir(h.dir, place.Host{Boot: "boot"}))(h.t)
	log := hclog.NewNullLogger()
	l := &lanes{host: h, dir: dir, lifecycle: &lifecycle.Lifecycle{Layout: h.layout, Clock: known(h.clock), Belief: clockguard.DefaultBelief(), Coord: coordAt, Log: log}}
	issued := grant.NewIssued()
	for i := range n {
		file := must.Get(dir.Lane(i))(h.t)
		p := &process{host: h, dir: dir, disk: &faultyDisk{File: file}}
		p.Holder = grant.New(grant.Config{
			Layout: h.layout, Coord: coordAt, Timing: grant.Timing{Window: window, Publish: window / 4, Step: step},
			FirstWait: wait, Clock: h.clock, Journal: p.disk, Lane: i, Issued: issued, Log: log,
		}, p)
		l.all = append(l.all, p)
		l.lifecycle.Holders = append(l.lifecycle.Holders, p.Holder)
	}
	l.inherited = must.Get(l.lifecycle.Inherit(dir))(h.t)
	h.t.Cleanup(l.crash)
	return l
}

// join joins the cluster and attaches all lanes.
func (l *lanes) join() error {
	l.t.Helper()
	first := l.all[0]
	l.lifecycle.Open = func(context.Context) (coord.Coordinator, error) {
		_, _, err := first.join()
		l.coord = first.coord
		return first.coord, err
	}
	l.lifecycle.Joined = func(c coord.Cluster) { l.cluster = c.UUID }
	_, err := l.lifecycle.Join(l.t.Context(), l.inherited)
	return err
}

// claimAll has all lanes claim at once, and returns how that went for each.
func (l *lanes) claimAll() []error {
	errs := make([]error, len(l.all))
	var all sync.WaitGroup
	for i, p := range l.all {
		all.Go(func() { errs[i] = p.Acquire(l.t.Context(), false) })
	}
	all.Wait()
	return errs
}

// startLanes is a whole start, up to each lane's first grant.
func (h *host) startLanes(n int) *lanes {
	h.t.Helper()
	l := h.bootLanes(n)
	must.Do(h.t, errors.Join(l.join(), errors.Join(l.claimAll()...)))
	return l
}

// issueAll is each lane's.
func (l *lanes) issueAll() {
	l.t.Helper()
	for i, p := range l.all {
		if p.issueAll() == 0 {
			l.t.Errorf("lane %d has nothing to issue: %+v", i, p.Holding())
		}
	}
}

// workers are the lanes' worker IDs, in the order of the lanes.
func (l *lanes) workers() []int {
	var all []int
	for _, p := range l.all {
		all = append(all, p.worker())
	}
	return all
}

// crash ends all of it as a kill does.
func (l *lanes) crash() {
	if l.all[0].disk.dead {
		return
	}
	for _, p := range l.all {
		p.disk.dead = true
	}
	if err := l.dir.Close(); err != nil {
		l.t.Error(err)
	}
}

// stop gives everything back and ends the session, as a clean stop does.
func (l *lanes) stop() {
	l.t.Helper()
	l.lifecycle.Leave(l.t.Context(), l.coord)
	l.crash()
}

// known is known time by a clock whose kernel says nothing.
func known(clock clockguard.Clock) *clockguard.Known {
	return clockguard.NewKnown(clock, nil, clockguard.DefaultBelief())
}
