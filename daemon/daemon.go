// Package daemon is one daemon's life: it opens the state directory, joins the cluster, holds a worker ID, serves IDs from it over
// the socket, and gives everything back in order. It is the only package that knows all the others.
package daemon

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/serve"
	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/generator"
)

const (
	// drainTimeout bounds the answering of accepted requests, and shutTimeout the last exchange with the coordinator.
	drainTimeout = 5 * time.Second
	shutTimeout  = 5 * time.Second
	// watchEvery is how often the clock is looked at when nobody asks for an ID.
	watchEvery = 100 * time.Millisecond
)

// Daemon is one daemon. It is made by New and lives through one Run.
type Daemon struct {
	config      Config
	log         hclog.Logger
	clock       clockguard.Clock
	layout      *generator.Layout
	incarnation string
	begun       clockguard.Reading
	witness     witness

	keeper *grant.Keeper
	issuer *issue.Issuer
	server *serve.Server
	bell   chan struct{} // rung when the lane or its ceiling changed

	cluster atomic.Pointer[coord.Cluster]
	ready   atomic.Bool
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
	return &Daemon{
		config:      c,
		log:         c.Log,
		clock:       c.Clock,
		layout:      layout,
		incarnation: uuid.NewString(),
		bell:        make(chan struct{}, 1),
	}, nil
}

// Run lives until ctx ends, and then answers what it has accepted, writes down the exact last tick and gives the worker ID back. It
// returns nil after such an end, and otherwise what made going on impossible.
func (d *Daemon) Run(ctx context.Context) (err error) {
	if d.clock == nil {
		clock, err := clockguard.Open()
		if err != nil {
			return fmt.Errorf("the clock: %w", err)
		}
		defer func() { err = errors.Join(err, clockguard.Close(clock)) }()
		d.clock = clock
	}
	d.begun = d.clock.Now()
	if d.witness, err = d.testify(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.witness.close()) }()
	if err := d.layout.CheckTime(time.Unix(0, d.begun.Wall)); err != nil {
		return fmt.Errorf("no ID can be issued: %w", err)
	}
	dir, err := journal.OpenDir(d.config.StateDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()

	if err := d.build(dir); err != nil {
		return err
	}
	inherited := d.inherit(dir)
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

// build makes the parts and ties them together.
func (d *Daemon) build(dir *journal.Dir) error {
	c := d.config
	tick := d.layout.TickLength()
	timing := c.timing(d.layout)
	first := max(timing.Step, 2*tick) + tick + c.Waiting.MaxSleep
	d.keeper = grant.New(grant.Config{
		Layout:     d.layout,
		Datacenter: c.IDs.Datacenter,
		Coord:      c.coordinator().Text,
		Accept:     c.acceptCluster(),
		Timing:     timing,
		FirstWait:  first,
		Clock:      d.clock,
		Journal:    dir,
		Log:        d.log.Named("grant"),
	}, lateIssuer{d})
	// The ring's span is what every lane of this layout has; a lane is made only to ask it.
	lane, err := generator.NewLane(d.layout, c.IDs.Datacenter, 0, 0)
	if err != nil {
		return err
	}
	limits, err := clockguard.NewLimits(max(c.Waiting.MaxSleep, tick), time.Duration(lane.Span())*tick, tick)
	if err != nil {
		return err
	}
	d.issuer = issue.New(d.layout, d.clock, issue.Limits{Guard: limits, FirstWait: first, MaxBlock: c.Waiting.MaxBlock}, d.keeper)
	d.server = serve.New(serve.Config{
		Source:  d.witness.source(d.issuer),
		Layout:  d.layout,
		Info:    d.Info,
		Version: c.Version,
		Limits:  serve.Limits{Limits: resp.Limits{Count: c.Socket.MaxCount}, Connections: c.Socket.MaxConnections},
		Log:     d.log.Named("serve"),
		Clock:   d.clock,
	})
	d.issuer.OnChange(func() {
		d.server.Wake()
		select {
		case d.bell <- struct{}{}:
		default:
		}
	})
	return nil
}

// lateIssuer is the daemon's issuer for the keeper, which is made before it.
type lateIssuer struct{ d *Daemon }

func (l lateIssuer) Use(lane *generator.Lane) { l.d.issuer.Use(lane) }
func (l lateIssuer) Changed()                 { l.d.issuer.Changed() }

// inherit reads the journal and hands the keeper what can be used of it. What cannot is named, and the record rules.
func (d *Daemon) inherit(dir *journal.Dir) *journal.Contents {
	contents, err := dir.Read()
	switch {
	case errors.Is(err, journal.ErrNone):
		return nil
	case err != nil:
		d.log.Warn("the journal is not used; the record rules", "error", err)
		return nil
	}
	if err := d.keeper.Inherit(contents); err != nil {
		d.log.Warn("the journal is not used; the record rules", "error", err)
		return nil
	}
	return &contents
}

// live runs the parts until ctx ends or one of them fails, and ends them in order.
func (d *Daemon) live(ctx context.Context, listener net.Listener, inherited *journal.Contents) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	failed := make(chan error, 5) // one for each part
	var serving, parts sync.WaitGroup
	run := func(group *sync.WaitGroup, part func() error) {
		group.Go(func() {
			if err := part(); err != nil {
				failed <- err
			}
		})
	}
	var coordinator coord.Coordinator
	run(&serving, func() error { return d.server.Serve(work, listener) })
	run(&parts, func() error { return d.keeper.Mark(work) })
	run(&parts, func() error { return d.watch(work) })
	run(&parts, func() error { return d.announce(work) })
	run(&parts, func() (err error) {
		coordinator, err = d.lend(work, inherited)
		return err
	})

	var err error
	select {
	case <-ctx.Done():
		d.log.Info("stopping: answering what has been accepted")
	case err = <-failed:
		d.log.Error("stopping", "error", err)
	}
	drain, cancel := context.WithTimeout(work, drainTimeout)
	if e := d.server.Drain(drain); e != nil {
		d.log.Warn("not every request was answered", "error", e)
	}
	cancel()
	serving.Wait()
	stop()
	parts.Wait()
	return errors.Join(err, d.leave(ctx, coordinator))
}

// leave gives the worker ID back and ends the session.
func (d *Daemon) leave(ctx context.Context, coordinator coord.Coordinator) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutTimeout)
	defer cancel()
	err := d.keeper.Shut(ctx)
	if err != nil {
		// The record then stays where it is: the next start has to wait, or takes another worker ID.
		d.log.Warn("the worker ID was not given back in order", "error", err)
	}
	if coordinator != nil {
		if e := coordinator.Close(); e != nil {
			d.log.Warn("the coordinator's session did not end in order", "error", e)
		}
	}
	d.log.Info("stopped")
	return nil
}

// watch finds steps of the clock, also while nobody asks for an ID.
func (d *Daemon) watch(ctx context.Context) error {
	w := clockguard.NewWatch(d.clock.Now(), clockguard.DefaultTolerance)
	_ = w.Run(ctx, d.clock, watchEvery, func(step time.Duration) {
		d.log.Warn("the clock has stepped", "by", step.Round(time.Millisecond))
		d.issuer.Check()
		d.issuer.Changed() // a request may be waiting for an instant that has moved
	})
	return nil
}

// announce says once that IDs can be issued, or fails if that takes longer than it may.
func (d *Daemon) announce(ctx context.Context) error {
	if limit := d.config.Cluster.StartTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errStartTimeout)
		defer cancel()
	}
	for {
		if lane := d.issuer.Lane(); lane != nil && !lane.Closed() && lane.Ceiling() > lane.Floor() {
			now := d.clock.Now()
			wait := time.Duration(d.layout.UnixNanos(lane.Floor()+1) - now.Wall)
			if wait <= 0 {
				d.ready.Store(true)
				d.log.Info("ready", "socket", d.config.Socket.Path, "worker", lane.Worker(), "after", time.Duration(now.Mono-d.begun.Mono).Round(time.Microsecond))
				if d.config.Ready != nil {
					d.config.Ready()
				}
				return nil
			}
			if d.clock.Sleep(ctx, min(wait, watchEvery)) == nil {
				continue
			}
		}
		select {
		case <-d.bell:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errStartTimeout) {
				return fmt.Errorf("no ID could be issued within --start-timeout %v: %w", d.config.Cluster.StartTimeout, d.keeper.Trouble())
			}
			return nil
		}
	}
}

var errStartTimeout = errors.New("the start takes too long")

// groupID is the number of a group that is given by its name or number; -1, which leaves the group as it is, for none.
func groupID(group string) (int, error) {
	if group == "" {
		return -1, nil
	}
	if id, err := strconv.Atoi(group); err == nil && id >= 0 {
		return id, nil
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
