package etcdtest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/etcdhttp"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/features"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/flakeward/flakeward/coord/etcd/zaplog"
	"github.com/flakeward/flakeward/internal/must"
)

// member is one server. It is put together from etcd's parts and not with its
// package embed: that ends a server by waiting, up to its request timeout of 5 s and
// more, for each stream that a client holds open, and a session's keep-alive is one.
type member struct {
	cluster     *Cluster
	name, dir   string
	address     string // for clients
	peerAddress string
	initial     map[string]string // the peers' URLs, by name

	mu      sync.Mutex
	clients net.Listener
	peers   net.Listener
	server  *etcdserver.EtcdServer // nil while stopped
	rpc     *grpc.Server
	http    *http.Server // for the other members
	web     *http.Server // for clients
	serve   sync.WaitGroup
	gate    gate
	failure string // what etcd would have ended its process with
}

func (m *member) log() *zap.Logger {
	return zaplog.New(m.cluster.options.Log, func(message string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.failure = message
	})
}

func (m *member) serving() *etcdserver.EtcdServer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server
}

// start returns when the server runs; it need not be ready.
func (m *member) start() error {
	if m.serving() != nil {
		return nil
	}
	server, err := etcdserver.NewServer(m.configuration())
	if err != nil {
		return fmt.Errorf("etcdtest: %s: %w", m.name, err)
	}
	server.Start()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := errors.Join(listenAgain(&m.peers, m.peerAddress), listenAgain(&m.clients, m.address)); err != nil {
		server.HardStop()
		return fmt.Errorf("etcdtest: %s: %w", m.name, err)
	}
	m.server = server
	m.http = &http.Server{Handler: etcdhttp.NewPeerHandler(server.Logger(), server), ErrorLog: log.New(io.Discard, "", 0)}
	m.rpc = v3rpc.Server(server, m.cluster.options.TLS, nil, grpc.KeepaliveEnforcementPolicy(enforcement))
	mux := http.NewServeMux()
	etcdhttp.HandleVersion(mux, server)
	m.web = &http.Server{Handler: mux, ErrorLog: log.New(io.Discard, "", 0)}
	peers, between, web, rpc := m.peers, m.http, m.web, m.rpc
	clients, pages := split(&gated{m.clients, &m.gate})
	m.serve.Go(func() { _ = between.Serve(peers) }) // always says that it was closed
	m.serve.Go(func() { _ = web.Serve(pages) })
	m.serve.Go(func() {
		// A server that is not ready yet would answer with errors of its own.
		select {
		case <-server.ReadyNotify():
		case <-server.StoppingNotify():
		}
		_ = rpc.Serve(clients)
	})
	m.peers, m.clients = closedListener{m.peers}, closedListener{m.clients}
	return nil
}

// enforcement is how often etcd lets clients ask whether the connection still is: its
// own defaults.
var enforcement = keepalive.EnforcementPolicy{MinTime: 5 * time.Second}

// closedListener marks a listener that a server has taken over and closes.
type closedListener struct{ net.Listener }

// listenAgain opens a listener on its address, unless it is open and not taken over.
func listenAgain(l *net.Listener, address string) error {
	if _, taken := (*l).(closedListener); !taken {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	for {
		again, err := net.Listen("tcp", address)
		if err == nil {
			*l = again
			return nil
		}
		// Some connection of this machine may have got the port for its own end.
		if !pause(ctx, 10*time.Millisecond) {
			return err
		}
	}
}

// stop cuts all connections and then ends the server.
func (m *member) stop() {
	m.mu.Lock()
	server, rpc, web, between := m.server, m.rpc, m.web, m.http
	m.server = nil
	m.mu.Unlock()
	if server == nil {
		return
	}
	m.gate.open()
	rpc.Stop()
	_ = web.Close() // the listener may be closed already
	_ = between.Close()
	server.HardStop()
	m.serve.Wait()
}

func (m *member) configuration() config.ServerConfig {
	must := func(raw string) types.URLs {
		return must.Get(types.NewURLs([]string{raw}))(m.cluster.t)
	}
	initial := types.URLsMap{}
	for name, url := range m.initial {
		initial[name] = must(url)
	}
	scheme := "http://"
	if m.cluster.options.TLS != nil {
		scheme = "https://"
	}
	tokens := uint(300)
	if ttl := m.cluster.options.TokenTTL; ttl != 0 {
		tokens = uint(ttl / time.Second)
	}
	logger := m.log()
	return config.ServerConfig{
		Name:                m.name,
		DataDir:             m.dir,
		ClientURLs:          must(scheme + m.address),
		PeerURLs:            must("http://" + m.peerAddress),
		InitialPeerURLsMap:  initial,
		InitialClusterToken: "etcdtest",
		NewCluster:          true,
		BootstrapTimeout:    100 * time.Millisecond,

		TickMs:                     20,
		ElectionTicks:              10,
		InitialElectionTickAdvance: true,
		PreVote:                    true,

		SnapshotCount:          10000,
		SnapshotCatchUpEntries: 5000,
		MaxSnapFiles:           2,
		MaxWALFiles:            2,

		QuotaBackendBytes:           256 << 20,
		BackendFreelistType:         bbolt.FreelistMapType,
		UnsafeNoFsync:               true, // what these servers wrote outlives them, as the machine does not go down
		MaxTxnOps:                   128,
		MaxRequestBytes:             3 << 19, // etcd's default, 1.5 MiB
		MaxConcurrentStreams:        math.MaxUint32,
		StrictReconfigCheck:         true,
		ClientCertAuthEnabled:       m.cluster.options.TLS != nil && m.cluster.options.TLS.ClientAuth == tls.RequireAndVerifyClientCert,
		AuthToken:                   "simple",
		BcryptCost:                  4, // the lowest: tests authenticate often
		TokenTTL:                    tokens,
		MaxLearners:                 1,
		Metrics:                     "basic",
		WarningApplyDuration:        time.Minute, // loaded machines are no news here
		WarningUnaryRequestDuration: time.Minute,
		ServerFeatureGate:           features.NewDefaultServerFeatureGate(m.name, logger),
		Logger:                      logger,
	}
}
