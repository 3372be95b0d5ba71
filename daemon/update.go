package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/daemon/serve"
	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/daemon/takeover"
)

const (
	// rehearsal bounds how long a newcomer asks the coordinator whether it fits in. Without an
	// answer the daemon that runs goes on: it may have a grant, and the newcomer could claim
	// nothing.
	rehearsal = 2 * time.Second
	// besideTimeout bounds how long it takes to claim a worker ID, while the other daemon serves.
	besideTimeout = 10 * time.Second
)

// settings are what a daemon has in common with one that takes over from it.
func (c Config) settings(layout fmt.Stringer) takeover.Settings {
	return takeover.Settings{Layout: fmt.Sprintf("%s;datacenter=%d", layout, c.IDs.Datacenter), Coord: c.coordinator().Text}
}

// asksAtMost is how often a newcomer asks a daemon that ends the conversation without a reason.
const asksAtMost = 3

// takeOver takes over from the daemon that runs on the socket; nil if there is none, or it is gone
// meanwhile.
func (d *Daemon) takeOver(ctx context.Context, settings takeover.Settings) (p *predecessor, err error) {
	for range asksAtMost {
		p, err = d.tryTakeOver(ctx, settings)
		if !errors.Is(err, takeover.ErrBroken) || ctx.Err() != nil {
			break
		}
		d.log.Warn("the running daemon did not hand over; asking again", "reason", err)
	}
	return p, err
}

func (d *Daemon) tryTakeOver(ctx context.Context, settings takeover.Settings) (p *predecessor, err error) {
	opened, cluster, unfit := d.rehearse(ctx)
	defer func() {
		if p == nil && opened != nil {
			_ = opened.Close() // nothing was done with it
		}
	}()
	settings.Cluster = cluster
	running, err := takeover.Ask(ctx, d.config.Socket.Path, d.config.Version, settings)
	if errors.Is(err, takeover.ErrNobody) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--takeover: %w", err)
	}
	defer func() {
		if p == nil {
			_ = running.Close() // all has been said
		}
	}()
	if unfit != nil {
		return nil, fmt.Errorf("--takeover: the running daemon goes on, as this one could not claim a worker ID in its cluster: %w", unfit)
	}
	d.opened, opened = opened, nil
	held, err := d.claimBeside(ctx, running.Running)
	defer func() {
		if p == nil {
			d.leaveAlone(ctx)
		}
	}()
	if err != nil {
		return nil, fmt.Errorf("--takeover: the running daemon goes on, as this one could not claim a worker ID: %w", err)
	}
	if err := running.Ready(ctx, held); err != nil {
		return nil, fmt.Errorf("--takeover: %w", err)
	}
	handed := &predecessor{}
	if handed.Commit, handed.open, err = running.Receive(ctx, budget.Room()); err != nil {
		return nil, fmt.Errorf("--takeover: %w", err)
	}
	if running.Cluster != "" && running.Cluster != d.cluster { // for which enter came too early
		for _, c := range handed.open {
			_ = unix.Close(c.FD)
		}
		handed.open = nil
	}
	d.clock.Exceed(handed.Time.Wall, handed.Time.Boot)
	d.config.Service.HoldUntil(running.Over())
	d.log.Info("took over", "from", running.Version, "connections", len(handed.open))
	return handed, nil
}

// rehearse opens the coordinator, for the start to use, and looks whether this daemon fits into its
// cluster, and which that is. It writes nothing.
func (d *Daemon) rehearse(ctx context.Context) (c coord.Coordinator, cluster string, err error) {
	ctx, cancel := clockguard.WithTimeout(ctx, d.clock, rehearsal)
	defer cancel()
	c, err = d.dial(ctx)
	if err != nil {
		return nil, "", err
	}
	found, err := c.(coord.Operator).Inspect(ctx)
	if err == nil {
		err = d.config.joins(d.layout).Fits(found)
	}
	return c, found.UUID, err
}

// predecessor is what a running daemon has handed over; nil: there was none.
type predecessor struct {
	takeover.Commit
	open []serve.Connection
}

// claimBeside starts and claims a worker ID while the daemon that is to hand over serves. It
// reports whether one was free: if not, that daemon gives its own back. leaveAlone undoes it, also
// after an error.
func (d *Daemon) claimBeside(ctx context.Context, from takeover.Running) (held bool, err error) {
	d.before = from.Age
	d.enter(from.Cluster, d.server.Disconnect)
	d.start()
	d.lifecycle.Resume(from.Time)
	ctx, cancel := clockguard.WithTimeout(ctx, d.clock, besideTimeout)
	defer cancel()
	holder := d.lane.holder.Load()
	if d.joinedTo, err = d.lifecycle.Join(ctx); err == nil && ctx.Err() != nil {
		err = cmp.Or(holder.Condition(), ctx.Err())
	}
	if err == nil {
		err = holder.Acquire(ctx, true)
	}
	switch {
	case errors.As(err, new(*coord.ExhaustedError)), errors.As(err, new(*coord.AheadError)):
		return false, nil
	case err != nil:
		return false, err
	}
	for {
		wait, known := d.lane.opens(d.clock.Now())
		if !known || wait <= 0 {
			return true, nil
		}
		if err := d.clock.Sleep(ctx, min(wait, lifecycle.WatchEvery)); err != nil {
			return false, err
		}
	}
}

// leaveAlone gives back what was claimed beside a daemon that goes on.
func (d *Daemon) leaveAlone(ctx context.Context) {
	d.lifecycle.Leave(context.WithoutCancel(ctx), d.joinedTo)
	d.joinedTo, d.before, d.cluster = nil, 0, ""
	d.lane.Use(nil)
	d.incarnate()
}

// listen makes the socket, or goes on with the one that was handed over, with all connections.
func (p *predecessor) listen(d *Daemon) (*socketfile.Listener, error) {
	s := d.config.Socket
	if p == nil {
		return listen(d.lock, s, d.config.Service, d.log)
	}
	d.server.Adopt(p.open)
	group, err := groupID(s.Group)
	if err != nil {
		return nil, err
	}
	l, err := d.lock.Adopt(p.Listener, s.Mode, group)
	if err == nil && p.Kept {
		l.Keep()
		if !p.Stored {
			l.Foreign()
		}
	}
	return l, err
}

const (
	// queueTimeout bounds how long a newcomer waits for another that is taking over.
	queueTimeout = 30 * time.Second
	// queueEvery is how often it asks.
	queueEvery = 200 * time.Millisecond
)

// succeed takes the socket's lock, and takes over from the daemon that runs there if this one is
// to. Where somebody has the lock and cannot be asked, as while another newcomer takes over, it
// waits until there is somebody to ask, or nobody left. It returns nil where nothing was taken
// over.
func (d *Daemon) succeed(ctx context.Context) (_ *predecessor, err error) {
	if !d.config.Takeover {
		d.lock, err = socketfile.TakeLock(d.config.Socket.Path, d.config.Socket.Mode, d.note())
		return nil, err
	}
	// What is found wrong after COMMIT leaves nobody to serve.
	if err := d.config.Check(); err != nil {
		return nil, fmt.Errorf("--takeover: the running daemon goes on: %w", err)
	}
	settings := d.config.settings(d.layout)
	if err := d.reserve(&settings); err != nil {
		return nil, fmt.Errorf("--takeover: the running daemon goes on: %w", err)
	}
	begun, said := d.clock.Now().Mono, false
	for {
		from, err := d.takeOver(ctx, settings)
		if err != nil {
			return nil, err
		}
		if from != nil {
			d.lock = socketfile.AdoptLock(from.Lock, d.config.Socket.Path, d.note())
			return from, nil
		}
		d.lock, err = socketfile.TakeLock(d.config.Socket.Path, d.config.Socket.Mode, d.note())
		if err == nil {
			d.log.Info("no daemon runs on this socket, so there is nothing to take over", "socket", d.config.Socket.Path)
		}
		if !errors.As(err, new(*socketfile.InUseError)) || d.clock.Now().Mono.Sub(begun) > queueTimeout {
			return nil, err
		}
		if !said {
			d.log.Info("another process begins, ends or takes over on this socket; waiting for it", "reason", err)
			said = true
		}
		if e := d.clock.Sleep(ctx, queueEvery); e != nil {
			return nil, err
		}
	}
}
