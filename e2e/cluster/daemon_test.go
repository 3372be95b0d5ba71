package cluster

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/process"
)

// node is one life of a daemon, in this process or in its own.
type node struct {
	*client
	w      *testCluster
	config daemon.Config
	begun  time.Time
	took   time.Duration // until it was ready

	// In this process:
	log    *logText
	ready  chan struct{}
	cancel context.CancelFunc
	ended  chan error
	// In its own:
	process *process.Daemon
	clock   *process.Clock
}

// launch starts a daemon in this process and does not wait for it. It ends with the drill.
func (w *testCluster) launch(c daemon.Config) *node {
	w.Helper()
	n := &node{w: w, config: c, log: &logText{}, ready: make(chan struct{}), ended: make(chan error, 1), begun: time.Now()}
	c.Log = hclog.New(&hclog.LoggerOptions{Output: n.log, Level: hclog.Info})
	c.Ready = func() {
		n.took = time.Since(n.begun)
		close(n.ready)
	}
	c.Version = "drill"
	n.client = &client{w: w, socket: c.Socket.Path}
	var ctx context.Context
	ctx, n.cancel = context.WithCancel(context.Background())
	go func() { n.ended <- daemon.Run(ctx, c) }()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes = append(w.nodes, n)
	return n
}

// stopAll stops all daemons that are left.
func (w *testCluster) stopAll() {
	w.mu.Lock()
	nodes := w.nodes
	w.mu.Unlock()
	for _, n := range nodes {
		n.client.close()
		n.cancel()
	}
	for i, n := range nodes {
		var how any
		if n.process != nil {
			<-n.process.Ended()
		} else {
			err := <-n.ended
			n.ended <- err
			how = err
		}
		if w.Failed() && i < 10 {
			w.Logf("the log of %s (%v):\n%s", n.config.Host, how, n.tail())
		}
	}
}

func (n *node) tail() string {
	if n.process != nil {
		return n.process.Tail()
	}
	return n.log.tail()
}

// start starts a daemon in this process and waits until it can issue.
func (w *testCluster) start(c daemon.Config) *node {
	w.Helper()
	n := w.launch(c)
	n.untilReady()
	return n
}

func (n *node) untilReady() {
	n.w.Helper()
	select {
	case <-n.ready:
	case err := <-n.ended:
		n.ended <- err
		n.w.Fatalf("%s ended with %v", n.config.Host, err)
	case <-time.After(timeout):
		n.w.Fatalf("%s is not ready", n.config.Host)
	}
}

// end waits for a daemon that stops by itself and returns why it did.
func (n *node) end() error {
	n.w.Helper()
	select {
	case err := <-n.ended:
		n.ended <- err
		n.client.close()
		return err
	case <-time.After(timeout):
		n.w.Fatalf("%s does not end", n.config.Host)
		return nil
	}
}

// stop stops the daemon as SIGTERM does.
func (n *node) stop() {
	n.w.Helper()
	if n.process != nil {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		if err := n.process.Stop(ctx); err != nil {
			n.w.Error(err)
		}
		n.client.close()
		return
	}
	n.cancel()
	if err := n.end(); err != nil {
		n.w.Errorf("%s ended with %v", n.config.Host, err)
	}
}

// spawn starts a daemon as a process of its own, whose clock can be set, and waits until it can
// issue.
func (w *testCluster) spawn(c daemon.Config) *node {
	w.Helper()
	return w.spawnAhead(c, 0)
}

// spawnAhead is spawn on a host whose clock is ahead.
func (w *testCluster) spawnAhead(c daemon.Config, ahead time.Duration) *node {
	w.Helper()
	program, err := binary()
	if err != nil {
		w.Fatal(err)
	}
	host, err := process.NewHost(program, c.Socket.Path+"p",
		"--coord", c.Cluster.Coord, "--socket", c.Socket.Path, "--host", c.Host,
		"--layout", c.IDs.Layout, "--ttl", c.Cluster.TTL.String(), "--window", c.Grant.Window.String(), "--publish", c.Grant.Publish.String(),
		"--max-block", c.Waiting.MaxBlock.String(), fmt.Sprintf("--trust-clock=%v", c.Time.Trust))
	if err != nil {
		w.Fatal(err)
	}
	if ahead != 0 {
		if err := host.Clock.Set(ahead); err != nil {
			w.Fatal(err)
		}
	}
	n := &node{w: w, config: c, client: &client{w: w, socket: c.Socket.Path}, begun: time.Now(), clock: host.Clock}
	var ctx context.Context
	ctx, n.cancel = context.WithCancel(context.Background())
	if n.process, err = host.Start(ctx); err != nil {
		w.Fatal(err)
	}
	w.mu.Lock()
	w.nodes = append(w.nodes, n)
	w.mu.Unlock()
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := n.process.Await(waiting, "ready"); err != nil {
		w.Fatal(err)
	}
	n.took = time.Since(n.begun)
	return n
}

// setClock sets how far the clock of a daemon that was spawned is ahead, and waits until the daemon
// sees it.
func (n *node) setClock(ahead time.Duration) {
	n.w.Helper()
	if err := n.clock.Set(ahead); err != nil {
		n.w.Fatal(err)
	}
	n.w.soon("the clock of "+n.config.Host, func() bool {
		off := time.Duration(generator.Tick(n.number("now"))-n.w.tick()) * n.w.layout.TickLength()
		return (off - ahead).Abs() < time.Minute
	})
}

// logText is a log that is read while it is written. It keeps its end.
type logText struct {
	mu sync.Mutex
	b  []byte
}

const keptLog = 64 << 10

func (l *logText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	if over := len(l.b) - keptLog; over > keptLog {
		l.b = append(l.b[:0], l.b[over:]...)
	}
	return len(p), nil
}

func (l *logText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}

func (l *logText) tail() string {
	lines := bytes.Split([]byte(l.String()), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-30):], []byte("\n")))
}
