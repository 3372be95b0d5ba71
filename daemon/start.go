package daemon

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/daemon/takeover"
)

func (d *Daemon) closeDir() error {
	if d.dir == nil {
		return nil
	}
	dir := d.dir
	d.dir = nil
	return dir.Close()
}

// openDir takes the state directory, by a lock that was handed over unless that is nil, and the
// machine as it is now.
func (d *Daemon) openDir(lock *os.File) (err error) {
	d.dir, err = d.config.Journal.Adopt(d.config.StateDir, d.machine.host(), lock)
	return err
}

// start makes what a start has of its own, and returns what the journal says. It goes on with what
// another process has handed over.
func (d *Daemon) start(handed grant.Handed) *journal.Contents {
	d.makeHolder()
	d.lifecycle = &lifecycle.Lifecycle{
		Holder:  d.lane.holder.Load(),
		Layout:  d.layout,
		Clock:   d.clock,
		Belief:  d.config.Time,
		Coord:   d.config.coordinator().Text,
		Open:    d.open,
		Final:   final,
		Joined:  d.joined,
		Machine: d.machine.generation,
		Alone:   d.config.coordinator().InStateDir,
		Status:  d.config.Service.Status,
		Events:  d.events,
		Log:     d.log,
	}
	inherited := d.lifecycle.Inherit(d.dir)
	if inherited != nil && inherited.Cluster != "" {
		d.forms.enter(inherited.Cluster) // for what another process has handed over
	}
	d.lifecycle.TakeOver(inherited, handed)
	return inherited
}

// age is how long the daemon has lived, and those that it took over from.
func (d *Daemon) age() time.Duration { return d.before + d.clock.Now().Mono.Sub(d.begun.Mono) }

// makeHolder makes the holder of a start, with its journal in the state directory.
func (d *Daemon) makeHolder() {
	c, l := d.config, d.lane
	l.holder.Store(grant.New(grant.Config{
		Layout:     d.layout,
		Datacenter: c.IDs.Datacenter,
		FromZero:   d.config.IDs.SequenceStart == StartZero,
		Coord:      c.coordinator().Text,
		Timing:     c.timing(d.layout),
		FirstWait:  l.first,
		Clock:      d.clock,
		Age:        d.age(),
		Kept:       d.clock.Kept,
		Journal:    d.metrics.Journal(d.dir.File),
		Machine:    d.machine.generation,
		Events:     d.events,
		Log:        d.log.Named("grant"),
	}, l))
}

// startAnew is start in a copy of the machine. Its failure ends the daemon: whoever watches over it
// starts it again, and sees why that is needed.
func (d *Daemon) startAnew() (*journal.Contents, error) {
	if err := d.openDir(nil); err != nil {
		return nil, fmt.Errorf("the virtual machine was cloned or put back, and this copy could not start anew: %w", err)
	}
	return d.start(grant.Handed{Worker: coord.AnyWorker}), nil
}

// parts are what runs besides the serving, from a start to its end.
type parts struct {
	lifecycle   *lifecycle.Lifecycle
	running     sync.WaitGroup
	stop        context.CancelFunc
	failed      chan error        // has room for one from each part
	coordinator coord.Coordinator // nil: none was opened. It is there once all have ended
}

// begin lets the parts of a start run.
func (d *Daemon) begin(ctx context.Context, inherited *journal.Contents) *parts {
	p := &parts{lifecycle: d.lifecycle, failed: make(chan error, 4)}
	ctx, p.stop = context.WithCancel(ctx)
	run := func(part func() error) {
		p.running.Go(func() {
			if err := part(); err != nil {
				p.failed <- err
			}
		})
	}
	run(func() error { return p.lifecycle.Holder.Mark(ctx) })
	run(func() error { return p.lifecycle.Watch(ctx, d.lane.issuer) })
	run(func() error { p.lifecycle.Settle(ctx, d.lane.issuer); return nil })
	run(func() error { d.announce(ctx); return nil })
	run(func() error { d.reload.run(ctx); return nil })
	run(func() (err error) {
		p.coordinator, err = d.hold(ctx, inherited)
		return err
	})
	return p
}

// wait returns a newcomer that is ready to take over, nil when ctx ends, and else the error of a
// part, or of the serving, that failed.
func (p *parts) wait(ctx context.Context, served <-chan error, ready <-chan *takeover.Successor) (*takeover.Successor, error) {
	select {
	case <-ctx.Done():
		return nil, nil
	case s := <-ready:
		return s, nil
	case err := <-served:
		return nil, err
	case err := <-p.failed:
		return nil, err
	}
}

// end ends the parts, gives the worker IDs back and ends the session.
func (p *parts) end(ctx context.Context) {
	p.stop()
	p.running.Wait()
	p.lifecycle.Leave(context.WithoutCancel(ctx), p.coordinator)
}

// leaveToOriginal ends a start in a copy of the machine: what it holds is the original's as well.
// Requests wait for the next start, and connections stay unless that finds another cluster. Another
// process may take the state directory before that does; then this one ends.
func (d *Daemon) leaveToOriginal(ctx context.Context, p *parts) {
	d.log.Warn("the virtual machine was cloned or put back, so this daemon is a copy: it issues nothing more from its worker IDs, leaves them and "+
		"its session to the original, and starts anew", "generation", d.machine.generation.Now.Load(), "was", d.machine.generation.Then)
	d.ready.Store(false)
	p.end(ctx)
	d.lane.Use(nil)
	if err := d.closeDir(); err != nil {
		d.log.Warn("the state directory was not closed", "error", err)
	}
	d.incarnate()
}
