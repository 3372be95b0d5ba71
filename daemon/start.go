package daemon

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/life"
	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/daemon/vmclock"
	"github.com/flakeward/flakeward/generator"
)

// openVM maps the page in which the hypervisor shows the machine's generation, if it does.
func (d *Daemon) openVM() {
	if d.config.VMClock == "" {
		return
	}
	page, err := vmclock.Open(d.config.VMClock)
	switch {
	case err == nil:
		d.vm = page
	case errors.Is(err, vmclock.ErrNone):
		d.log.Debug("a copy of the running machine would not be noticed", "reason", err)
	default:
		d.log.Warn("a copy of the running machine is not noticed; see --vm-clock", "error", err)
	}
}

func (d *Daemon) closeVM() error {
	if d.vm == nil {
		return nil
	}
	return d.vm.Close()
}

func (d *Daemon) closeDir() error {
	if d.dir == nil {
		return nil
	}
	dir := d.dir
	d.dir = nil
	return dir.Close()
}

// openDir takes the state directory, and the machine as it is now.
func (d *Daemon) openDir() (err error) {
	d.dir, err = d.config.Journal.OpenDir(d.config.StateDir, d.host())
	return err
}

// start makes what a start has of its own, and returns what the journals say.
func (d *Daemon) start() (life.Inherited, error) {
	if err := d.makeKeepers(d.dir); err != nil {
		return nil, err
	}
	d.life = &life.Life{
		Layout:  d.layout,
		Clock:   d.clock,
		Coord:   d.config.coordinator().Text,
		Open:    d.open,
		Final:   final,
		Joined:  d.joined,
		Machine: d.machine,
		Alone:   d.config.coordinator().Embedded,
		Log:     d.log,
	}
	for _, l := range d.lanes {
		d.life.Holders = append(d.life.Holders, l.holder.Load())
	}
	return d.life.Inherit(d.dir)
}

// startAnew is start in a copy of the machine. Its failure ends the daemon: whoever watches over it
// starts it again, and sees why that is needed.
func (d *Daemon) startAnew() (inherited life.Inherited, err error) {
	if err = d.openDir(); err == nil {
		inherited, err = d.start()
	}
	if err != nil {
		return nil, fmt.Errorf("the virtual machine was cloned or put back, and this copy could not start anew: %w", err)
	}
	return inherited, nil
}

// host is what the machine is known by, as a part of the journal's place. The generation that it
// names is what the start is bound to.
func (d *Daemon) host() place.Host {
	host, err := place.ThisHost(d.config.MachineIdentity)
	switch {
	case err == nil:
	case d.config.MachineIdentity == "":
		d.log.Info("the machine has no identity that lasts over a boot: after one, another worker ID is claimed; "+
			"--machine-identity FILE gives it one", "reason", err)
	default:
		d.log.Warn("--machine-identity names no usable identity: after a boot, another worker ID is claimed", "reason", err)
	}
	d.machine = generator.Generation{}
	if d.vm == nil {
		return host
	}
	if generation, ok := d.vm.Generation(); ok {
		d.machine = generator.Generation{Now: d.vm.Counter(), Then: generation}
		host.VM = strconv.FormatUint(generation, 10)
		d.log.Info("the virtual machine's generation is watched", "generation", host.VM)
	}
	return host
}

// parts are what runs besides the serving, from a start to its end.
type parts struct {
	life        *life.Life
	running     sync.WaitGroup
	stop        context.CancelFunc
	failed      chan error        // has room for one from each part
	coordinator coord.Coordinator // nil: none was opened. It is there once all have ended
}

// begin lets the parts of a start run.
func (d *Daemon) begin(ctx context.Context, inherited life.Inherited) *parts {
	p := &parts{life: d.life, failed: make(chan error, 3+len(d.lanes))}
	ctx, p.stop = context.WithCancel(ctx)
	run := func(part func() error) {
		p.running.Go(func() {
			if err := part(); err != nil {
				p.failed <- err
			}
		})
	}
	for _, k := range p.life.Holders {
		run(func() error { return k.Mark(ctx) })
	}
	run(func() error { return p.life.Watch(ctx, d.pool) })
	run(func() error { return d.announce(ctx) })
	run(func() (err error) {
		p.coordinator, err = d.hold(ctx, inherited)
		return err
	})
	return p
}

// wait returns nil when ctx ends, and else the error of a part, or of the serving, that failed.
func (p *parts) wait(ctx context.Context, served <-chan error) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-served:
		return err
	case err := <-p.failed:
		return err
	}
}

// end ends the parts, gives the worker IDs back and ends the session.
func (p *parts) end(ctx context.Context) {
	p.stop()
	p.running.Wait()
	p.life.Leave(context.WithoutCancel(ctx), p.coordinator)
}

// leaveToOriginal ends a start in a copy of the machine: what it holds is the original's as well.
// Requests wait for the next start, and connections stay unless that finds another cluster. Another
// process may take the state directory before that does; then this one ends.
func (d *Daemon) leaveToOriginal(ctx context.Context, p *parts) {
	d.log.Warn("the virtual machine was cloned or put back, so this daemon is a copy: it issues nothing more from its worker IDs, leaves them and "+
		"its session to the original, and starts anew", "generation", d.machine.Now.Load(), "was", d.machine.Then)
	d.ready.Store(false)
	p.end(ctx)
	for _, l := range d.lanes {
		l.Use(nil)
	}
	if err := d.closeDir(); err != nil {
		d.log.Warn("the state directory was not closed in order", "error", err)
	}
	d.incarnate()
}
