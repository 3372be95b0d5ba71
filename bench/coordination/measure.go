package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/faultproxy"
)

// server is a coordinator's server that runs.
type server interface {
	address() string // host:port
	// dial returns the coordinator of a daemon, which reaches the server at another address.
	dial(address string, identity coord.Identity) (coord.Coordinator, error)
	// writes is the server's own count of what was ever written.
	writes(ctx context.Context) (int64, error)
	// settle waits until nothing of the daemons' start is left to be written.
	settle(ctx context.Context, daemons int) error
	logs() (pattern string) // the files that it logs its writes to
	stop() error
}

// backends start a server that keeps everything below dir.
var backends = map[string]func(ctx context.Context, dir string) (server, error){"etcd": startEtcd, "zookeeper": startZooKeeper}

// line is what was measured with a number of daemons.
type line struct {
	backend   string
	daemons   int
	storm     time.Duration // from the first connection until all hold a grant
	failed    int64         // tries at that
	took      time.Duration // of the publishing
	published int64         // grants that the daemons were told of
	writes    int64         // writes meanwhile, as the server counts
	logged    int64         // bytes meanwhile
	sent      int64         // from the daemons to the server
	received  int64
}

func measure(ctx context.Context, backend string, daemons int, o options) (l line, err error) {
	l = line{backend: backend, daemons: daemons}
	dir, err := os.MkdirTemp("", "coordination-")
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := backends[backend](ctx, dir)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return l, err
	}
	c := faultproxy.New(listener, s.address()) // it counts the bytes
	defer c.Close()

	all := make([]*daemon, daemons)
	defer func() { each(all, func(d *daemon) error { return d.close() }) }() // the server ends with its data
	for i := range all {
		identity := coord.Identity{Host: fmt.Sprintf("host-%05d.example.net", i), PID: 1000 + i, Incarnation: fmt.Sprintf("%026d", i), Version: "v1.0.0"}
		coordinator, err := s.dial(c.Address(), identity)
		if err != nil {
			return l, err
		}
		all[i] = &daemon{coordinator: coordinator}
	}
	begun := time.Now()
	if err := each(all, func(d *daemon) error { return d.claimOne(ctx, daemons) }); err != nil {
		return l, err
	}
	l.storm = time.Since(begun)
	for _, d := range all {
		l.failed += d.failed
	}
	if err := distinct(all); err != nil {
		return l, err
	}

	if err := s.settle(ctx, daemons); err != nil {
		return l, err
	}
	before, err := look(ctx, s, c)
	if err != nil {
		return l, err
	}
	begun = time.Now()
	publishing, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	if err := each(all, func(d *daemon) error { return d.publish(ctx, publishing, o.publish) }); err != nil {
		return l, err
	}
	l.took = time.Since(begun)
	after, err := look(ctx, s, c)
	if err != nil {
		return l, err
	}
	for _, d := range all {
		l.published += d.published
	}
	l.writes, l.logged = after.writes-before.writes, after.logged-before.logged
	l.sent, l.received = after.sent-before.sent, after.received-before.received
	return l, ctx.Err()
}

// counts are all counters at one time.
type counts struct{ writes, logged, sent, received int64 }

func look(ctx context.Context, s server, c *faultproxy.Proxy) (n counts, err error) {
	if n.writes, err = s.writes(ctx); err != nil {
		return n, err
	}
	if n.logged, err = written(s.logs()); err != nil {
		return n, err
	}
	n.sent, n.received = c.Counts()
	return n, nil
}

// each has all daemons do something at once.
func each(all []*daemon, do func(*daemon) error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, d := range all {
		if d != nil {
			wg.Go(func() { errs[i] = do(d) })
		}
	}
	wg.Wait()
	for _, err := range errs { // one is enough, of a thousand
		if err != nil {
			return err
		}
	}
	return nil
}

// daemon is what the coordinator sees of one.
type daemon struct {
	coordinator coord.Coordinator
	claim       coord.Claim
	published   int64
	failed      int64 // tries at a claim
}

// now is a tick of a usual size.
func now() generator.Tick { return generator.Tick(time.Now().UnixMilli() - 1735689600000) }

func (d *daemon) progress() coord.Progress {
	return coord.Progress{Ceiling: now() + 600_000, Issued: now() - 1, Mark: now() + 1000}
}

// claimOne gets the daemon a worker ID and its first grant. What fails is tried again after a
// moment, as the daemon does.
func (d *daemon) claimOne(ctx context.Context, workers int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		err := d.try(ctx, workers)
		if err == nil || !pause(ctx, 100*time.Millisecond) {
			return err
		}
		d.failed++
	}
}

func (d *daemon) try(ctx context.Context, workers int) (err error) {
	if d.claim == nil {
		if _, err := d.coordinator.Join(ctx, coord.Layout{Text: "flakeward;datacenter=0", Workers: workers}); err != nil {
			return err
		}
		pending, err := d.coordinator.Claim(ctx, coord.Request{Worker: coord.AnyWorker, Latest: now()})
		if err != nil {
			return err
		}
		if d.claim, err = pending.Open(ctx); err != nil {
			return err
		}
	}
	if err = d.claim.Extend(ctx, d.progress()); errors.Is(err, coord.ErrLost) {
		d.claim = nil
	}
	return err
}

// publish extends the daemon's grant until publishing ends, as the daemon does: the next time a
// publish after the last, spread by a tenth either way. Daemons that run for long are anywhere
// between two grants, so each begins there.
func (d *daemon) publish(ctx, publishing context.Context, every time.Duration) error {
	for wait := rand.N(every); pause(publishing, wait); wait = time.Duration(float64(every) * (0.9 + 0.2*rand.Float64())) {
		if err := d.claim.Extend(ctx, d.progress()); err != nil {
			return fmt.Errorf("worker ID %d: %w", d.claim.Worker(), err)
		}
		d.published++
	}
	return nil
}

func (d *daemon) close() error { return d.coordinator.Close() }

// pause waits, and returns whether ctx lets it to the end.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func distinct(all []*daemon) error {
	held := map[int]bool{}
	for _, d := range all {
		held[d.claim.Worker()] = true
	}
	if len(held) != len(all) {
		return fmt.Errorf("%d daemons hold %d worker IDs", len(all), len(held))
	}
	return nil
}
