package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/daemon/takeover"
)

// start makes what a start has of its own.
func (d *Daemon) start() {
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
		Status:  d.config.Service.Status,
		Events:  d.events,
		Log:     d.log,
	}
}

// age is how long the daemon has lived, and those that it took over from.
func (d *Daemon) age() time.Duration { return d.before + d.clock.Now().Mono.Sub(d.begun.Mono) }

// makeHolder makes the holder of a start.
func (d *Daemon) makeHolder() {
	c, l := d.config, d.lane
	l.holder.Store(grant.New(grant.Config{
		Layout:      d.layout,
		Datacenter:  c.IDs.Datacenter,
		FromZero:    d.config.IDs.SequenceStart == StartZero,
		Coord:       c.coordinator().Text,
		Timing:      c.timing(d.layout),
		RestartWait: l.first,
		Clock:       d.clock,
		Age:         d.age(),
		Machine:     d.machine.generation,
		Events:      d.events,
		Log:         d.log.Named("grant"),
	}, l))
}

// parts are what runs besides the serving, from a start to its end.
type parts struct {
	lifecycle   *lifecycle.Lifecycle
	running     sync.WaitGroup
	stop        context.CancelFunc
	failed      chan error        // has room for one from each part that can fail
	coordinator coord.Coordinator // nil: none was opened. It is there once all have ended
	left        bool              // end has been called
}

// begin lets the parts of a start run.
func (d *Daemon) begin(ctx context.Context) *parts {
	p := &parts{lifecycle: d.lifecycle, failed: make(chan error, 4)}
	ctx, p.stop = context.WithCancel(ctx)
	run := func(part func() error) {
		p.running.Go(func() {
			if err := part(); err != nil {
				p.failed <- err
			}
		})
	}
	run(func() error { return p.lifecycle.Watch(ctx, d.lane.issuer) })
	run(func() error { p.lifecycle.Settle(ctx, d.lane.issuer); return nil })
	run(func() error { d.announce(ctx); return nil })
	run(func() error { d.reloads(ctx); return nil })
	run(func() (err error) {
		p.coordinator, err = d.hold(ctx)
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

// end ends the parts, gives the worker IDs back and ends the session. To call it again does
// nothing.
func (p *parts) end(ctx context.Context) {
	if p.left {
		return
	}
	p.left = true
	p.stop()
	p.running.Wait()
	p.lifecycle.Leave(context.WithoutCancel(ctx), p.coordinator)
}
