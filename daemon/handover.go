package daemon

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/daemon/takeover"
	"github.com/flakeward/flakeward/internal/fault"
)

// lookout is what a daemon does beside serving: it keeps the socket's file, and answers newcomers.
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
	running := func() (takeover.Settings, takeover.Running) {
		s := d.config.settings(d.layout)
		s.Cluster, s.Listen = d.lane.holder.Load().Holding().Cluster, d.config.Listen.Address
		return s, takeover.Running{Time: d.lifecycle.KnownTime(), Age: d.age(), Cluster: s.Cluster}
	}
	l, err := takeover.Listen(d.config.Socket.Path, d.config.Version, running, d.log)
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

// handOver hands everything but the worker ID to a newcomer that is ready, which has one of its own
// or gets this one: it returns true. If the newcomer is gone, the daemon goes on, and starts anew
// if it has given its worker ID back. It refuses to hand over while it issues from a worker ID that
// the newcomer would need, and that cannot be given back.
func (p *parts) handOver(ctx context.Context, d *Daemon, to *takeover.Successor, listener *socketfile.Listener) (done bool) {
	defer to.Close() // all has been said
	if c := new(condition.Condition); !to.Held && errors.As(d.lane.Condition(), &c) && !c.Stopped {
		err := to.Refuse(ctx, "it issues on, as no worker ID is free for the newcomer, and its own cannot be given back now: "+c.Error())
		d.log.Warn("a newcomer does not take over", "reason", err)
		return false
	}
	begun := d.clock.Now().Mono
	frozen, err := d.server.Freeze()
	// Whoever is told to connect again meets the newcomer: a client of gRPC tries a call that met
	// the end of a connection again once, and not twice.
	d.web.leaving.Store(true)
	commit := takeover.Commit{Time: d.lifecycle.KnownTime(), Kept: listener.Kept(), Stored: listener.Kept() && !listener.IsForeign(), Lock: d.lock.File()}
	fault.Point(fault.RunningFrozen)
	if err == nil {
		commit.Connections = len(frozen.Connections)
		err = to.Offer(ctx, frozen.Connections)
	}
	fault.Point(fault.RunningOffered)
	if err == nil && !to.Held {
		p.end(ctx)
	}
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
		d.log.Info("handed over", "to", to.Version, "connections", commit.Connections, "after", d.clock.Now().Mono.Sub(begun))
		d.config.Service.Successor(to.PID)
		return true // and the newcomer may speak with systemd from now on
	}
	d.web.leaving.Store(false)
	d.log.Error("the newcomer did not take over; going on", "newcomer", to.Version, "reason", err)
	if p.left {
		known := p.lifecycle.KnownTime()
		d.lane.Use(nil)
		d.incarnate()
		d.start()
		d.lifecycle.Resume(known)
	}
	if frozen != nil {
		frozen.Resume()
	}
	return false
}
