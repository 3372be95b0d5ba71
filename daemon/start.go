package daemon

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"sync"

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

// start makes what a start has of its own, and returns what the journals say. It goes on with what
// another process has handed over.
func (d *Daemon) start(handed []grant.Handed) (lifecycle.Inherited, error) {
	if err := d.makeHolders(d.dir); err != nil {
		return nil, err
	}
	d.lifecycle = &lifecycle.Lifecycle{
		Layout:  d.layout,
		Clock:   d.clock,
		Belief:  d.config.Time,
		Coord:   d.config.coordinator().Text,
		Open:    d.open,
		Final:   final,
		Joined:  d.joined,
		Machine: d.machine.generation,
		Alone:   d.config.coordinator().InStateDir,
		Idle:    debug.FreeOSMemory, // what the start and the last requests took
		Status:  d.config.Service.Status,
		Events:  d.events,
		Log:     d.log,
	}
	for _, l := range d.lanes {
		d.lifecycle.Holders = append(d.lifecycle.Holders, l.holder.Load())
	}
	inherited, err := d.lifecycle.Inherit(d.dir)
	if journal := inherited.Cluster(); journal != "" {
		d.forms.enter(journal) // for a cold start, and for what another process has handed over
	}
	if err == nil {
		d.lifecycle.TakeOver(inherited, handed)
	}
	return inherited, err
}

// makeHolders makes the lanes' holders of a start, each with its journal in dir.
func (d *Daemon) makeHolders(dir *journal.Dir) error {
	c := d.config
	issued := grant.NewIssued()
	for _, l := range d.lanes {
		file, err := dir.Lane(l.number)
		if err != nil {
			return fmt.Errorf("lane %d: %w", l.number, err)
		}
		log := d.log.Named("grant")
		if c.IDs.Lanes > 1 {
			log = log.With("lane", l.number)
		}
		l.holder.Store(grant.New(grant.Config{
			Layout:     d.layout,
			Datacenter: c.IDs.Datacenter,
			FromZero:   d.config.IDs.SequenceStart == StartZero,
			Coord:      c.coordinator().Text,
			Timing:     c.timing(d.layout),
			FirstWait:  l.first,
			Clock:      d.clock,
			Kept:       d.clock.Kept,
			Journal:    d.metrics.Journal(file),
			Lane:       l.number,
			Issued:     issued,
			Machine:    d.machine.generation,
			Events:     d.events,
			Log:        log,
		}, l))
	}
	return nil
}

// startAnew is start in a copy of the machine. Its failure ends the daemon: whoever watches over it
// starts it again, and sees why that is needed.
func (d *Daemon) startAnew() (inherited lifecycle.Inherited, err error) {
	if err = d.openDir(nil); err == nil {
		inherited, err = d.start(nil)
	}
	if err != nil {
		return nil, fmt.Errorf("the virtual machine was cloned or put back, and this copy could not start anew: %w", err)
	}
	return inherited, nil
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
func (d *Daemon) begin(ctx context.Context, inherited lifecycle.Inherited) *parts {
	p := &parts{lifecycle: d.lifecycle, failed: make(chan error, 3+len(d.lanes))}
	ctx, p.stop = context.WithCancel(ctx)
	run := func(part func() error) {
		p.running.Go(func() {
			if err := part(); err != nil {
				p.failed <- err
			}
		})
	}
	for _, k := range p.lifecycle.Holders {
		run(func() error { return k.Mark(ctx) })
	}
	run(func() error { return p.lifecycle.Watch(ctx, d.pool) })
	run(func() error { p.lifecycle.Settle(ctx, d.pool); return nil })
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
	for _, l := range d.lanes {
		l.Use(nil)
	}
	if err := d.closeDir(); err != nil {
		d.log.Warn("the state directory was not closed", "error", err)
	}
	d.incarnate()
}
