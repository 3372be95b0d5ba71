package daemon

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/daemon/takeover"
	"github.com/flakeward/flakeward/internal/fault"
)

// freezeTimeout bounds how long a daemon that is taken over waits for its accepting to stand still.
const freezeTimeout = 250 * time.Millisecond

// lookout is what a daemon does beside serving: it keeps the socket's file, and answers
// newcomers.
type lookout struct {
	ready chan *takeover.Successor // gets who is ready to take over
	stop  context.CancelFunc
	ended sync.WaitGroup
}

func lookOut(ctx context.Context, d *Daemon, listener *socketfile.Listener) *lookout {
	o := &lookout{ready: make(chan *takeover.Successor)}
	ctx, o.stop = context.WithCancel(ctx)
	keep := func() { store(listener, d.config.Service, d.log) }
	o.ended.Go(func() { keepSocket(ctx, d.clock, listener, d.config.Socket.Path, keep, d.log) })
	settings := func() takeover.Settings {
		s := d.config.settings(d.layout)
		s.Cluster, s.Listen = d.lane.holder.Load().Cluster(), d.config.Listen.Address
		return s
	}
	l, err := takeover.Listen(d.config.Socket.Path, d.config.Version, settings, d.log)
	if err != nil {
		d.log.Warn("no daemon can take over from this one", "error", err)
		return o
	}
	o.ended.Go(func() {
		defer l.Close() // nobody comes any more
		s, err := l.Await(ctx)
		switch {
		case err == nil:
			select {
			case o.ready <- s:
			case <-ctx.Done():
				_ = s.Close()
			}
		case ctx.Err() == nil:
			d.log.Warn("no daemon can take over from this one", "error", err)
		}
	})
	return o
}

func (o *lookout) end() {
	o.stop()
	o.ended.Wait()
}

// handOver ends the parts, gives the worker ID back and hands everything to a newcomer that is ready:
// it returns true. If the newcomer is gone, the daemon starts anew.
func (p *parts) handOver(ctx context.Context, d *Daemon, to *takeover.Successor, listener *socketfile.Listener) (done bool) {
	defer to.Close() // all has been said
	begun := d.clock.Now().Mono
	p.stop()
	p.running.Wait()
	still := d.clock.Now().Mono
	fault.Point(fault.RunningStill)
	freezing, cancel := clockguard.WithTimeout(ctx, d.clock, freezeTimeout)
	frozen, err := d.server.Freeze(freezing)
	cancel()
	// Whoever is told to connect again meets the newcomer: a client of gRPC tries a call that met the
	// end of a connection again once, and not twice.
	d.web.leaving.Store(true)
	commit := takeover.Commit{Cluster: d.cluster, Kept: listener.Kept(), Stored: listener.Kept() && !listener.IsForeign(), Lock: d.lock.File(), Age: d.age()}
	fault.Point(fault.RunningFrozen)
	if err == nil {
		commit.Connections = len(frozen.Connections)
		err = to.Offer(ctx, frozen.Connections)
	}
	fault.Point(fault.RunningOffered)
	commit.Time = p.lifecycle.KnownTime()
	// Before the newcomer claims a worker ID: it is to have the same one.
	p.lifecycle.Leave(ctx, p.coordinator)
	if err == nil {
		commit.Listener, err = listener.File()
	}
	if err == nil {
		commit.Address, err = d.addressFile()
	}
	if err == nil {
		err = to.Commit(ctx, commit) // this alone decides
	}
	for _, f := range []*os.File{commit.Listener, commit.Address} {
		_ = f.Close() // a duplicate, or none
	}
	if err == nil {
		fault.Point(fault.RunningCommitted)
		listener.Keep()
		frozen.Leave()
		d.web.taker.GiveUp() // connections of HTTP stay here
		fault.Point(fault.RunningLeft)
		end := d.clock.Now().Mono
		d.log.Info("handed over", "to", to.Version, "connections", commit.Connections, "after", end.Sub(begun), "still", end.Sub(still))
		d.config.Service.Successor(to.PID)
		return true // and the newcomer may speak with systemd from now on
	}
	d.web.leaving.Store(false)
	d.log.Error("the newcomer did not take over; going on", "newcomer", to.Version, "reason", err)
	d.lane.Use(nil)
	d.incarnate()
	d.start()
	d.lifecycle.Resume(commit.Time)
	if frozen != nil {
		frozen.Resume()
	}
	return false
}
