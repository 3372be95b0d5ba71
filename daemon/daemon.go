// Package daemon is one daemon's life: it opens the state directory, joins the cluster, holds a
// worker ID for each lane, serves IDs from them over the socket, and gives everything back in
// order. It is the only package that knows all the others.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/user"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/life"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/serve"
	"github.com/flakeward/flakeward/daemon/singleton"
	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/generator"
)

// drainTimeout bounds the answering of accepted requests.
const drainTimeout = 5 * time.Second

// Daemon is one daemon. It is made by New and lives through one Run.
type Daemon struct {
	config Config
	log    hclog.Logger
	clock  clockguard.Clock
	layout *generator.Layout
	begun  clockguard.Reading

	source      func(resp.Source) resp.Source
	coordinator func(coord.Coordinator) coord.Coordinator

	lanes  lanes
	pool   *issue.Pool
	server *serve.Server
	change chan struct{} // gets one when a lane or its ceiling changed

	// What each start has of its own. A machine that is copied makes the daemon start anew.
	machine     machine
	dir         *journal.Dir
	life        *life.Life
	incarnation atomic.Pointer[string]
	ready       atomic.Bool
	cluster     string // the UUID of the one that was joined last
	announced   sync.Once
}

// New checks the configuration and makes a daemon that has touched nothing yet.
func New(c Config) (*Daemon, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.Host == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("the host's name is not known (%w); give one with --host", err)
		}
		c.Host = host
	}
	layout, err := generator.ParseLayout(c.IDs.Layout)
	if err != nil {
		return nil, err
	}
	d := &Daemon{config: c, log: c.Log, clock: c.Clock, layout: layout, change: make(chan struct{}, 1)}
	d.machine = machine{identity: c.MachineIdentity, log: c.Log}
	if d.clock == nil {
		d.clock = clockguard.System{}
	}
	d.Decorate(func(s resp.Source) resp.Source { return s }, func(c coord.Coordinator) coord.Coordinator { return c })
	d.incarnate()
	return d, nil
}

// Decorate makes Run issue from what source returns, given the daemon's own source, and claim
// with what coordinator returns, given each coordinator that is opened.
func (d *Daemon) Decorate(source func(resp.Source) resp.Source, coordinator func(coord.Coordinator) coord.Coordinator) {
	d.source, d.coordinator = source, coordinator
}

// incarnate draws the ID of a start.
func (d *Daemon) incarnate() {
	id := uuid.NewString()
	d.incarnation.Store(&id)
}

// Run lives until ctx ends, and then answers what it has accepted, writes down the exact last tick
// and gives the worker ID back. It returns nil after such an end, and otherwise what made going on
// impossible.
func (d *Daemon) Run(ctx context.Context) (err error) {
	d.begun = d.clock.Now()
	if err := d.layout.CheckTime(time.Unix(0, d.begun.Wall)); err != nil {
		return fmt.Errorf("no ID can be issued: %w", err)
	}
	defer func() { err = errors.Join(err, d.machine.close()) }()
	d.machine.open(d.config.VMClock)
	if err := d.build(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.closeDir()) }()
	if err := d.openDir(); err != nil {
		return err
	}
	if d.config.Cluster.Coord == "" {
		locks, err := singleton.Acquire(d.log)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, locks.Close()) }()
	}
	d.warn(d.dir)
	inherited, err := d.start()
	if err != nil {
		return err
	}
	group, err := groupID(d.config.Socket.Group)
	if err != nil {
		return err
	}
	listener, err := socketfile.Listen(d.config.Socket.Path, d.config.Socket.Mode, group)
	if err != nil {
		return err
	}
	return d.live(ctx, listener, inherited)
}

// build makes the parts that serve requests and ties them together.
func (d *Daemon) build() error {
	var err error
	if d.lanes, err = newLanes(d.config, d.layout, d.clock); err != nil {
		return err
	}
	var issuers []*issue.Issuer
	for _, l := range d.lanes {
		issuers = append(issuers, l.issuer)
	}
	d.pool = issue.NewPool(issuers...)
	d.server = serve.New(serve.Config{
		Source:  d.source(d.pool),
		Layout:  d.layout,
		Info:    d.Info,
		Version: d.config.Version,
		Limits:  serve.Limits{Limits: resp.Limits{Count: d.config.Socket.MaxCount}, Connections: d.config.Socket.MaxConnections},
		Log:     d.log.Named("serve"),
		Clock:   d.clock,
	})
	d.pool.OnChange(func() {
		d.server.Wake()
		select {
		case d.change <- struct{}{}:
		default:
		}
	})
	return nil
}

// live serves requests through one start after the other, until ctx ends or a part fails, and ends
// all in order.
func (d *Daemon) live(ctx context.Context, listener net.Listener, inherited life.Inherited) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	served := make(chan error, 1)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := d.server.Serve(work, listener); err != nil {
			served <- err
		}
	})
	parts := d.begin(work, inherited)
	err := parts.wait(ctx, served)
	for errors.Is(err, grant.ErrCopied) {
		d.leaveToOriginal(ctx, parts)
		parts = nil
		if inherited, err = d.startAnew(); err != nil {
			break
		}
		parts = d.begin(work, inherited)
		err = parts.wait(ctx, served)
	}
	if err == nil {
		d.log.Info("stopping: answering what has been accepted")
	} else {
		d.log.Error("stopping", "error", err)
	}
	drain, cancel := context.WithTimeout(work, drainTimeout)
	if e := d.server.Drain(drain); e != nil {
		d.log.Warn("not every request was answered", "error", e)
	}
	cancel()
	serving.Wait()
	if parts != nil {
		parts.end(ctx)
	}
	return err
}

// announce says once that IDs can be issued, from whichever lane is the first, or fails if that
// takes longer than it may. The other lanes join in when they can: to wait for all would have
// requests wait for a worker ID that they can do without.
func (d *Daemon) announce(ctx context.Context) error {
	if limit := d.config.Cluster.StartTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errStartTimeout)
		defer cancel()
	}
	for {
		now := d.clock.Now()
		if first, wait := d.lanes.soonest(now); first != nil {
			if wait <= 0 {
				d.ready.Store(true)
				d.log.Info("ready", "socket", d.config.Socket.Path, "worker", first.holder.Load().Holding().Worker, "after", time.Duration(now.Mono-d.begun.Mono).Round(time.Microsecond))
				if d.config.Ready != nil {
					d.announced.Do(d.config.Ready)
				}
				return nil
			}
			if d.clock.Sleep(ctx, min(wait, life.WatchEvery)) == nil {
				continue
			}
		}
		select {
		case <-d.change:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errStartTimeout) {
				return fmt.Errorf("no ID could be issued within --start-timeout %v: %w", d.config.Cluster.StartTimeout, d.lanes.condition())
			}
			return nil
		}
	}
}

var errStartTimeout = errors.New("the start takes too long")

// groupID is the number of a group that is given by its name or number; -1, which leaves the group
// as it is, for none.
func groupID(group string) (int, error) {
	if group == "" {
		return -1, nil
	}
	// Systems keep 32 bits, of which the highest number stands for no change.
	if id, err := strconv.ParseUint(group, 10, 32); err == nil && id != math.MaxUint32 {
		return int(id), nil
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return 0, fmt.Errorf("--socket-group: there is no group %q; give one that exists, by name or number", group)
	}
	return strconv.Atoi(g.Gid)
}

// Run makes a daemon and runs it until ctx ends.
func Run(ctx context.Context, c Config) error {
	d, err := New(c)
	if err != nil {
		return err
	}
	return d.Run(ctx)
}
