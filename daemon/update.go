package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/life"
	"github.com/flakeward/flakeward/daemon/singleton"
	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/daemon/takeover"
)

const (
	// rehearsal bounds how long a newcomer asks the coordinator whether it fits in: without an
	// answer it goes on, as the daemon that runs has to as well.
	rehearsal = 2 * time.Second
	// freezeTimeout bounds how long a daemon that is taken over waits for its accepting to stand still.
	freezeTimeout = 250 * time.Millisecond
)

// settings are what a daemon has in common with one that takes over from it.
func (c Config) settings(layout fmt.Stringer) takeover.Settings {
	socket, err := filepath.Abs(c.Socket.Path)
	if err != nil { // the working directory is gone; the other one's path then has to be the same
		socket = c.Socket.Path
	}
	podSockets := c.Socket.Pods
	if whole, err := filepath.Abs(podSockets); err == nil && podSockets != "" {
		podSockets = whole
	}
	return takeover.Settings{
		Layout: fmt.Sprintf("%s;datacenter=%d", layout, c.IDs.Datacenter), Coord: c.coordinator().Text, Lanes: c.IDs.Lanes, Socket: socket, PodSockets: podSockets,
	}
}

// newcomer is a daemon that may take over from another.
type newcomer struct {
	config   Config
	settings takeover.Settings
	joins    coord.Layout
	clock    clockguard.Clock
	open     func(context.Context) (coord.Coordinator, error)
	log      hclog.Logger
}

// asksAtMost is how often a newcomer asks a daemon that ends the conversation without a reason.
const asksAtMost = 3

// takeOver takes over from the daemon that runs on the state directory; nil if there is none, or it is
// gone meanwhile.
func (n newcomer) takeOver(ctx context.Context) (p *predecessor, err error) {
	for range asksAtMost {
		p, err = n.try(ctx)
		if !errors.Is(err, takeover.ErrBroken) || ctx.Err() != nil {
			break
		}
		n.log.Warn("the running daemon did not hand over; asking again", "reason", err)
	}
	return p, err
}

func (n newcomer) try(ctx context.Context) (p *predecessor, err error) {
	opened, cluster, unfit := n.rehearse(ctx)
	defer func() {
		if p == nil && opened != nil {
			_ = opened.Close() // nothing was done with it
		}
	}()
	n.settings.Cluster = cluster
	running, err := takeover.Ask(ctx, n.config.StateDir, n.config.Version, n.settings)
	if errors.Is(err, takeover.ErrNobody) {
		n.log.Info("no daemon runs on this state directory, so there is nothing to take over", "state_dir", n.config.StateDir)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--takeover: %w", err)
	}
	defer running.Close() //nolint:errcheck // all has been said
	if unfit != nil {
		return nil, fmt.Errorf("--takeover: the running daemon goes on, as this one would not fit into its cluster: %w", unfit)
	}
	if err := running.Ready(ctx); err != nil {
		return nil, fmt.Errorf("--takeover: %w", err)
	}
	handed := &predecessor{opened: opened}
	if handed.Commit, handed.open, err = running.Receive(ctx, budget.Room()); err != nil {
		return nil, fmt.Errorf("--takeover: %w", err)
	}
	n.log.Info("took over", "from", running.Version, "connections", len(handed.open.Connections), "pod_sockets", len(handed.open.Sockets))
	return handed, nil
}

// rehearse opens the coordinator, for the start to use, and looks whether this daemon fits into its
// cluster, and which that is; empty: that is not known. It writes nothing. An embedded coordinator
// is still the running daemon's.
func (n newcomer) rehearse(ctx context.Context) (c coord.Coordinator, cluster string, err error) {
	if n.config.coordinator().Embedded {
		return nil, "", nil
	}
	ctx, cancel := clockguard.WithTimeout(ctx, n.clock, rehearsal)
	defer cancel()
	c, err = n.open(ctx)
	var stage *coord.StageError
	if err == nil {
		var found coord.Inspected
		found, err = c.(coord.Operator).Inspect(ctx)
		cluster = found.UUID
		if err == nil {
			err = n.joins.Fits(found)
		}
	}
	if final(err) || errors.Is(err, coord.ErrUnfit) || errors.Is(err, coord.ErrNoCluster) ||
		errors.As(err, &stage) && stage.Stage == coord.Closed {
		return c, "", err
	}
	if err != nil {
		n.log.Warn("whether this daemon fits into the cluster is not known, as the coordinator does not answer", "error", err)
	}
	return c, cluster, nil
}

// predecessor is what a running daemon has handed over; nil: there was none.
type predecessor struct {
	takeover.Commit
	open   takeover.Open
	opened coord.Coordinator // by this process; nil: none yet
}

// lock is the state directory's; nil: it is to be taken.
func (p *predecessor) lock() *os.File {
	if p == nil {
		return nil
	}
	return p.Lock
}

func (p *predecessor) lanes() []grant.Handed {
	if p == nil {
		return nil
	}
	return p.Lanes
}

// locks are those of a daemon whose coordinator was not named.
func (p *predecessor) locks(c Config, log hclog.Logger) (*singleton.Locks, error) {
	switch {
	case c.Cluster.Coord != "":
		if p != nil { // the cluster was moved from the embedded coordinator to one with a name
			for _, f := range p.Others {
				_ = f.Close()
			}
		}
		return nil, nil
	case p != nil:
		return singleton.Adopt(p.Others), nil
	}
	return singleton.Acquire(log)
}

// listen makes the socket, or goes on with the one that was handed over, and with the pods' sockets and
// all connections.
func (p *predecessor) listen(d *Daemon) (*socketfile.Listener, error) {
	s := d.config.Socket
	if p == nil {
		return listen(s, d.config.Service, d.log)
	}
	d.server.Adopt(p.adopt(d))
	group, err := groupID(s.Group)
	if err != nil {
		return nil, err
	}
	l, err := socketfile.Adopt(p.Listener, s.Path, s.Mode, group)
	if err == nil && p.Kept {
		l.Keep()
		l.Foreign()
	}
	return l, err
}

// lookout is what a daemon does beside serving: it keeps the socket's file and those of pods, and
// answers newcomers.
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
		s.Cluster = d.life.Holders[0].Cluster()
		return s
	}
	o.ended.Go(func() { d.pods.Run(ctx) })
	l, err := takeover.Listen(d.dir.Path(), d.config.Version, settings, d.log)
	if err != nil {
		d.log.Warn("no daemon can take over from this one", "error", err)
		return o
	}
	o.ended.Go(func() {
		defer l.Close() //nolint:errcheck // nobody comes any more
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

// errHandedOver is no failure: another daemon goes on.
var errHandedOver = errors.New("another daemon has taken over")

// handOver ends the parts and hands everything to a newcomer that is ready: it returns
// errHandedOver. If the newcomer is gone, the daemon begins anew, above what was issued, and what
// begin needs is returned.
func (p *parts) handOver(ctx context.Context, d *Daemon, to *takeover.Successor, listener *socketfile.Listener) (life.Inherited, error) {
	defer to.Close() //nolint:errcheck // all has been said
	begun := d.clock.Now().Mono
	// Issuing goes on until nothing else runs: the marks are ahead by half a step at least.
	p.stop()
	p.running.Wait()
	still := d.clock.Now().Mono
	freezing, cancel := clockguard.WithTimeout(ctx, d.clock, freezeTimeout)
	frozen, err := d.server.Freeze(freezing)
	cancel()
	commit := takeover.Commit{Kept: listener.Kept(), Lock: d.dir.Lock(), Others: d.locks.Files()}
	for _, k := range p.life.Holders {
		commit.Lanes = append(commit.Lanes, grant.HandOver(k))
	}
	open := takeover.Open{}
	if err == nil {
		open.Sockets, err = d.pods.HandOver()
	}
	if err == nil {
		open.Connections = frozen.Connections
		commit.Connections, commit.Sockets = len(open.Connections), len(open.Sockets)
		err = to.Offer(ctx, open)
	}
	for _, s := range open.Sockets {
		_ = s.File.Close() // a duplicate
	}
	if err == nil {
		commit.Listener, err = listener.File()
	}
	if err == nil {
		err = to.Commit(ctx, commit) // this alone decides
		_ = commit.Listener.Close()  // a duplicate
	}
	if err == nil {
		listener.Keep()
		d.pods.Keep()
		frozen.Leave()
		end := d.clock.Now().Mono
		d.log.Info("handed over", "to", to.Version, "connections", commit.Connections, "after", end.Sub(begun), "still", end.Sub(still))
		p.detach(d.log)
		return nil, errHandedOver
	}
	d.log.Error("the newcomer did not take over; going on", "newcomer", to.Version, "reason", err)
	p.detach(d.log)
	for _, l := range d.lanes {
		l.Use(nil)
	}
	d.incarnate()
	inherited, err := d.start(commit.Lanes)
	if frozen != nil {
		frozen.Resume()
	}
	return inherited, err
}

// detach leaves the session as it is: its claims are the journal's, and whoever goes on deletes them.
func (p *parts) detach(log hclog.Logger) {
	if p.coordinator == nil {
		return
	}
	if err := p.coordinator.Detach(); err != nil {
		log.Warn("the coordinator's session did not end in order", "error", err)
	}
}
