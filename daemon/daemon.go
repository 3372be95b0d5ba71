// Package daemon is one daemon's life: it takes its socket, joins the cluster, holds a worker ID,
// serves IDs from that over the socket, and gives everything back in order. It is the only package
// that knows all the others.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/secure"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/daemon/metrics"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/rest"
	"github.com/flakeward/flakeward/daemon/serve"
	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/daemon/takeover"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/daemon/tcp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/fault"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/logging"
)

// drainTimeout bounds the answering of accepted requests.
const drainTimeout = 5 * time.Second

// Daemon is one daemon. It is made by New and lives through one Run.
type Daemon struct {
	config Config
	log    hclog.Logger
	clock  *clockguard.Known
	layout *generator.Layout
	begun  clockguard.Reading
	before time.Duration // how old the process was that this one took over from

	source      func(resp.Source) resp.Source
	coordinator func(coord.Coordinator) coord.Coordinator

	memory  budget.Memory
	clients *budget.Budget             // of the memory of all connections together
	coder   atomic.Pointer[form.Coder] // writes IDs in their forms, for the cluster that there is now
	tcp     *tcp.Server                // who is answered on TCP
	address net.Listener               // on TCP; nil: there is none
	lane    *lane
	limited *issue.Limited // what issues, if users have rates; otherwise nil
	counts  tally.Table
	events  *condition.Counts
	metrics *metrics.Metrics
	serving atomic.Bool // all that metrics read is there
	server  *serve.Server
	web     *web
	current secure.Current // what the coordinator is reached with, as it was read last
	change  chan struct{}  // gets one when the lane or its ceiling changed

	// What each start has of its own: a takeover that fails is followed by another.
	machine     machine
	lifecycle   *lifecycle.Lifecycle
	incarnation atomic.Pointer[string]
	ready       atomic.Bool
	cluster     string            // the UUID of the one that was joined last
	handedOver  bool              // to another process; Run has ended by that
	lock        *socketfile.Lock  // nil: not taken yet
	opened      coord.Coordinator // before the start, for it to use
	joinedTo    coord.Coordinator // by the start, before its parts begin; nil: they join
	stays       func() error      // an error if the coordinator's directory was replaced; nil: it is none
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
	if c.Clock == nil {
		c.Clock, c.Kernel = clockguard.System{}, clockguard.SystemKernel{}
	}
	c.Time.End = layout.UnixNanos(layout.MaxTick() + 1)
	clock := clockguard.NewKnown(c.Clock, c.Kernel, c.Time)
	c.Log = logging.Trusted(c.Log, func() (time.Time, bool) {
		_, _, held := clock.Holding()
		return time.Unix(0, clock.Now().Wall), held
	})
	d := &Daemon{config: c, log: c.Log, clock: clock, layout: layout, change: make(chan struct{}, 1)}
	d.memory = budget.FindMemory(c.Memory)
	d.clients = budget.New(d.memory.Clients())
	d.coder.Store(form.New(layout, ""))
	if d.tcp, err = tcp.New(c.Listen); err != nil {
		return nil, err
	}
	d.events = condition.NewCounts()
	d.metrics = metrics.New(metrics.Sources{
		Version: c.Version, Figures: d.figures, Counts: &d.counts, Events: d.events, Clock: d.clock, User: rest.UserOf,
	})
	d.machine = machine{log: c.Log}
	d.Decorate(func(s resp.Source) resp.Source { return s }, func(c coord.Coordinator) coord.Coordinator { return c })
	d.incarnate()
	return d, nil
}

// Run makes a daemon and runs it until ctx ends, or another process has taken over. With
// TakeoverStay it returns only when ctx ends: a supervisor that starts whatever ends would have it
// take over again.
func Run(ctx context.Context, c Config) error {
	d, err := New(c)
	if err != nil {
		return err
	}
	if err := d.Run(ctx); err != nil {
		return err
	}
	if d.handedOver && c.TakeoverStay {
		d.log.Info("another daemon serves; waiting to be stopped")
		<-ctx.Done()
	}
	return nil
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

// Run lives until ctx ends, and then answers what it has accepted and gives the worker ID back. It
// returns nil after such an end, and otherwise what made going on impossible.
func (d *Daemon) Run(ctx context.Context) (err error) {
	if err := d.awaitEpoch(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.machine.close()) }()
	d.machine.open(d.config.VMClock)
	if err := d.build(); err != nil {
		return err
	}
	defer func() { d.lock.Free() }()
	defer d.closeAddress()
	from, err := d.succeed(ctx)
	if err != nil {
		return err
	}
	d.warn()
	d.config.Socket.warn(d.log)
	if from == nil {
		d.start()
	}
	d.serving.Store(true)
	if from != nil {
		fault.Point(fault.NewcomerStarted)
	}
	listener, err := from.listen(d)
	if err != nil {
		return err
	}
	if err := d.openAddress(from); err != nil {
		return errors.Join(err, listener.Close())
	}
	return d.live(ctx, listener)
}

// written is earlier than any right clock shows to this program.
var written = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// awaitEpoch waits for a clock to be set that shows a time before the layout's first tick, or after
// its last. It fails if the layout's time is over by any right clock: to wait would be of no use.
func (d *Daemon) awaitEpoch(ctx context.Context) error {
	said := false
	for {
		d.begun = d.clock.Now()
		err := d.layout.CheckTime(time.Unix(0, d.begun.Wall))
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if d.layout.End().Before(written) {
			return fmt.Errorf("no ID can be issued: %w", err)
		}
		if !said {
			said = true
			d.events.Happened(condition.OutsideLayout)
			d.log.Error("no ID can be issued by what the clock shows; waiting until it is set", "code", condition.OutsideLayout, "error", err, "do", condition.OutsideLayout.Do())
		}
		d.clock.Observe()
		d.clock.Begin() // nothing was issued by this clock yet
		_ = d.clock.Sleep(ctx, time.Second)
	}
}

// build makes the parts that serve requests and ties them together.
func (d *Daemon) build() error {
	var err error
	if d.lane, err = newLane(d.config, d.layout, d.clock); err != nil {
		return err
	}
	rate, err := issue.ParseRate(d.config.Waiting.Rate)
	if err != nil {
		return err
	}
	as, err := form.Named(d.config.IDs.Form)
	if err != nil {
		return err
	}
	limited := d.lane.issuer.Limit(rate, d.clock, d.config.Waiting.MaxBlock)
	d.limited, _ = limited.(*issue.Limited)
	source := d.source(limited)
	d.web = newWeb(d, source, as)
	d.server = serve.New(serve.Config{
		Source:  source,
		Layout:  d.layout,
		Form:    as,
		Coder:   d.coder.Load,
		Info:    d.Info,
		Version: d.config.Version,
		Limits: serve.Limits{
			Limits: resp.Limits{Count: d.config.Socket.MaxCount}, Backlogs: int(d.clients.Limit() / 4),
			Connections: d.config.Socket.connections(), Reserve: budget.Reserved, IdleTimeout: d.config.Socket.IdleTimeout,
		},
		Budget:   d.clients,
		Allow:    d.config.Socket.allow(),
		Operator: operator,
		Password: d.tcp.Password(),
		HTTP:     d.web.rest.HTTP(),
		Crowd:    d.web.rest.Crowd(),
		Log:      d.log.Named("serve"),
		Clock:    d.config.Clock, // needs no known time, and is told from others if it is the machine's
		Count:    &d.counts,

		Feed: d.config.Service.Feed, FeedEvery: d.config.Service.FeedEvery(),
	})
	d.web.count.server = d.server
	d.lane.issuer.OnChange(func() {
		d.server.Wake()
		d.web.taker.Wake()
		select {
		case d.change <- struct{}{}:
		default:
		}
	})
	return nil
}

// live serves requests through one start after the other, until ctx ends or a part fails, and ends
// all in order.
func (d *Daemon) live(ctx context.Context, listener *socketfile.Listener) error {
	var renewing sync.WaitGroup
	defer renewing.Wait()
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	renewed, endRenewing := context.WithCancel(work)
	defer endRenewing()
	renewing.Go(func() { d.renew(renewed) })
	served := make(chan error, 1)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := d.server.Serve(work, listener); err != nil {
			served <- err
		}
	})
	watch := lookOut(work, d, listener)
	parts, answering := d.begin(work), drainTimeout
	var err error
	for {
		var successor *takeover.Successor
		successor, err = parts.wait(ctx, served, watch.ready)
		if successor == nil {
			break
		}
		watch.end()
		if parts.handOver(work, d, successor, listener) {
			d.handedOver = true
			d.web.end(&serving)
			parts.end(ctx)
			return nil
		}
		watch = lookOut(work, d, listener)
		if parts.left {
			parts = d.begin(work)
		}
	}
	switch {
	case errors.Is(err, grant.ErrCopied):
		d.lock.Forget()
		// What this process holds, and whom it serves, are the original's. The next start claims
		// anew.
		d.log.Error("the virtual machine was cloned or put back, so this process is a copy: it ends, and leaves worker ID and session to the original",
			"generation", d.machine.generation.Now.Load(), "was", d.machine.generation.Then)
		parts.end(ctx)
		parts, answering = nil, 0
	case err == nil:
		d.log.Info("stopping: answering accepted requests")
	default:
		// The caller has the error, and says it once.
		var line []any
		if errors.Is(err, coord.ErrOtherCluster) {
			line = []any{"code", condition.OtherCluster, "do", condition.OtherCluster.Do()}
		}
		d.log.Error("stopping because of an error, which is logged last: answering accepted requests", line...)
	}
	d.config.Service.Stopping()
	endRenewing()
	watch.end()
	drain, cancel := context.WithTimeout(work, answering)
	if e := d.server.Drain(drain); e != nil {
		d.log.Warn("not every request was answered", "error", e)
	}
	cancel()
	d.web.end(&serving)
	if parts != nil {
		parts.end(ctx)
	}
	return err
}

// announce says once that IDs can be issued.
func (d *Daemon) announce(ctx context.Context) {
	for {
		now := d.clock.Now()
		if wait, known := d.lane.opens(now); known {
			if wait <= 0 {
				d.ready.Store(true)
				d.config.Service.Status(lifecycle.Issuing)
				d.config.Service.Ready()
				d.log.Info("ready", "socket", d.config.Socket.Path, "worker", d.lane.holder.Load().Holding().Worker, "after", time.Duration(now.Mono-d.begun.Mono).Round(time.Microsecond))
				if d.config.Ready != nil {
					d.announced.Do(d.config.Ready)
				}
				return
			}
			if d.clock.Sleep(ctx, min(wait, lifecycle.WatchEvery)) == nil {
				continue
			}
		}
		select {
		case <-d.change:
		case <-ctx.Done():
			return
		}
	}
}
