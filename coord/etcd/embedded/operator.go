package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/flakeward/flakeward/coord/etcd/zaplog"
)

// socketName is the Unix socket in the server's directory that operators' commands
// come in on while it runs. The directory is open to its owner alone.
const socketName = "operator.sock"

// maxSocketPath is the longest path of a Unix socket that all systems take, in
// bytes: the BSDs have 104 with the zero at its end, Linux 108.
const maxSocketPath = 103

// greetTimeout is how long somebody who has connected may say nothing. Stopping waits
// for who does; gRPC's own limit is two minutes.
const greetTimeout = time.Second

// errLongPath means that there is no socket for operators.
var errLongPath = fmt.Errorf("the path of its socket is longer than the %d bytes that systems allow", maxSocketPath)

// operators serves operators' commands.
type operators struct {
	listener net.Listener
	serving  sync.WaitGroup

	mu      sync.Mutex
	rpc     *grpc.Server // nil until somebody has connected
	stopped bool
}

// serveOperators listens on the socket in dir, which this process has locked: a
// socket that is there was left by a process that ended.
func serveOperators(dir string, server *etcdserver.EtcdServer) (*operators, error) {
	path := filepath.Join(dir, socketName)
	if len(path) > maxSocketPath {
		return nil, errLongPath
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	o := &operators{listener: l}
	o.serving.Go(func() { o.serve(server) })
	return o, nil
}

// serve makes what answers when somebody connects, which in the life of most daemons
// nobody does: it takes milliseconds, of the start at that, and half a megabyte.
func (o *operators) serve(server *etcdserver.EtcdServer) {
	first, err := o.listener.Accept()
	if errors.Is(err, net.ErrClosed) {
		return
	}
	rpc := v3rpc.Server(server, nil, nil, grpc.ConnectionTimeout(greetTimeout))
	o.mu.Lock()
	o.rpc = rpc
	stopped := o.stopped
	o.mu.Unlock()
	if stopped {
		rpc.Stop() // Serve sees that, and closes what it is given
	}
	l := accepted{o.listener, make(chan net.Conn, 1)}
	if err == nil {
		l.first <- first
	}
	_ = rpc.Serve(l) // ends by stop only, and says so
}

// accepted is a listener that may have accepted a connection already.
type accepted struct {
	net.Listener
	first chan net.Conn
}

func (a accepted) Accept() (net.Conn, error) {
	select {
	case conn := <-a.first:
		return conn, nil
	default:
		return a.Listener.Accept()
	}
}

// Close closes also a connection that nobody has taken.
func (a accepted) Close() error {
	err := a.Listener.Close()
	select {
	case conn := <-a.first:
		return errors.Join(err, conn.Close())
	default:
		return err
	}
}

// stop cuts the operators off and waits for what served them.
func (o *operators) stop() {
	if o == nil {
		return
	}
	o.mu.Lock()
	o.stopped = true
	rpc := o.rpc
	o.mu.Unlock()
	_ = o.listener.Close() // once more by rpc, if it serves; which says that it was closed
	if rpc != nil {
		rpc.Stop()
	}
	o.serving.Wait()
}

// Dial returns a client of the server that another process runs in dir. It fails at
// once if none listens there.
func Dial(ctx context.Context, dir string, log hclog.Logger) (*clientv3.Client, error) {
	path := filepath.Join(dir, socketName)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the embedded etcd in %s is in use by a daemon and cannot be asked while that runs: %w; stop the daemon, or use a shorter state directory", dir, errLongPath)
	}
	var dialer net.Dialer
	probe, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("the embedded etcd in %s is in use by a daemon that cannot be asked: %w; if it has only just begun or ended, try again", dir, err)
	}
	_ = probe.Close() // nothing was sent
	if log == nil {
		log = hclog.NewNullLogger()
	}
	return clientv3.New(clientv3.Config{
		Endpoints: []string{"unix:" + path},
		Logger:    zaplog.New(log, nil),
		DialOptions: []grpc.DialOption{
			// Not as gRPC would: it takes a path for an URL.
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, "unix", path)
			}),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
				MinConnectTimeout: time.Second,
			}),
		},
	})
}

// Born is true if the server in dir has ever been ready: there may be a cluster.
func Born(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, bornName))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
