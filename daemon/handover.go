package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/daemon/takeover"
	"github.com/flakeward/flakeward/internal/fault"
)

// freezeTimeout bounds how long a daemon that is taken over waits for its accepting to stand still.
const freezeTimeout = 250 * time.Millisecond

// behind returns why nobody may take over: the clock was set back below what the lane has issued, by
// more than a request sleeps for. The lane then issues from what its ring remembers, and no other
// process has that.
func (l *lane) behind(now clockguard.Reading, sleeps time.Duration) error {
	of := l.issuer.Lane()
	if of == nil || of.Closed() || of.Highest() <= of.Floor() {
		return nil
	}
	if by := time.Duration(l.layout.UnixNanos(of.Highest()) - now.Wall); by > sleeps+l.layout.TickLength() {
		return fmt.Errorf("the clock is %v behind the last ID, and only the process that issued it can go on below: "+
			"take over once the clock has passed that", by.Round(time.Millisecond))
	}
	return nil
}

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
	l, err := takeover.Listen(d.dir.Path(), d.config.Version, settings, d.log)
	if err != nil {
		d.log.Warn("no daemon can take over from this one", "error", err)
		return o
	}
	o.ended.Go(func() {
		defer l.Close() // nobody comes any more
		s, err := l.Await(ctx, func() error { return d.lane.behind(d.clock.Now(), d.config.Waiting.MaxSleep) })
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

// errHandedOver is no failure: another daemon goes on.
var errHandedOver = errors.New("another daemon has taken over")

// handOver ends the parts and hands everything to a newcomer that is ready: it returns
// errHandedOver. If the newcomer is gone, the daemon begins anew, above what was issued, and what
// begin needs is returned.
func (p *parts) handOver(ctx context.Context, d *Daemon, to *takeover.Successor, listener *socketfile.Listener) (*journal.Contents, error) {
	defer to.Close() // all has been said
	begun := d.clock.Now().Mono
	// Issuing goes on until nothing else runs: the marks are ahead by half a step at least.
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
	commit := takeover.Commit{Kept: listener.Kept(), Stored: listener.Kept() && !listener.IsForeign(), Lock: d.dir.Lock(), Age: d.age()}
	commit.Lane = grant.HandOver(p.lifecycle.Holder)
	fault.Point(fault.RunningFrozen)
	if err == nil {
		commit.Connections = len(frozen.Connections)
		err = to.Offer(ctx, frozen.Connections)
	}
	fault.Point(fault.RunningOffered)
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
		_ = to.Close() // the newcomer may speak with systemd from now on
		p.detach(d.log)
		return nil, errHandedOver
	}
	d.web.leaving.Store(false)
	d.log.Error("the newcomer did not take over; going on", "newcomer", to.Version, "reason", err)
	p.detach(d.log)
	d.lane.Use(nil)
	d.incarnate()
	inherited := d.start(commit.Lane)
	if frozen != nil {
		frozen.Resume()
	}
	return inherited, nil
}

// detach leaves the session as it is: its claims are the journal's, and whoever goes on deletes
// them.
func (p *parts) detach(log hclog.Logger) {
	if p.coordinator == nil {
		return
	}
	if err := p.coordinator.Detach(); err != nil {
		log.Warn("the coordinator session was not closed", "error", err)
	}
}
