package cluster

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon"
)

// node is one life of a daemon, in this process.
type node struct {
	*client
	w      *testCluster
	config daemon.Config
	begun  time.Time
	took   time.Duration // until it was ready

	log    *logText
	ready  chan struct{}
	cancel context.CancelFunc
	ended  chan error
	clock  *clocktest.Stepped // nil: the machine's
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
		err := <-n.ended
		n.ended <- err
		if w.Failed() && i < 10 {
			w.Logf("the log of %s (%v):\n%s", n.config.Host, err, n.log.tail())
		}
	}
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
	n.cancel()
	if err := n.end(); err != nil {
		n.w.Errorf("%s ended with %v", n.config.Host, err)
	}
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
