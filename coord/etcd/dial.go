package etcd

import (
	"crypto/tls"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/flakeward/flakeward/coord/secure"
)

// Servers says how to reach a cluster of etcd.
type Servers struct {
	// Endpoints are the members' client addresses, each host:port.
	Endpoints []string
	// User and Password are empty when etcd asks for none.
	User     string
	Password string
	// TLS encrypts; nil: everything is sent as it is, the password too. If it has a
	// client certificate and there is no User, the certificate's common name is the
	// user, where etcd is told to take it so.
	TLS *tls.Config
	// Current, if not nil, has what is taken in the place of Password and TLS once it was read
	// again.
	Current *secure.Current
}

// Dial returns a coordinator with a client of its own, which Close closes. It sends nothing:
// servers that cannot be reached are the error of Join. The endpoints are named in errors.
func Dial(servers Servers, config Config) (*Coordinator, error) {
	if len(servers.Endpoints) == 0 {
		return nil, fmt.Errorf("etcd: no server is named; give at least one host:port")
	}
	s, err := newStore(config)
	if err != nil {
		return nil, err
	}
	s.client.name = "etcd (" + strings.Join(servers.Endpoints, ", ") + ")"
	s.client.user, s.client.servers = servers.User, servers
	log := s.sessions.log
	known := newMistakes(log)
	s.client.login = newLogin(servers)
	own, err := dial(servers, s.client.login, log, known)
	if err != nil {
		return nil, fmt.Errorf("%s: make a client: %w", s.client.name, err)
	}
	s.sessions.own = own
	s.client.library = own
	c, err := newCoordinator(s, config)
	if err != nil {
		_ = own.Close()
	}
	return c, err
}

// dial makes a client, and sends nothing.
func dial(servers Servers, login *login, log hclog.Logger, known *mistakes) (*clientv3.Client, error) {
	options := []grpc.DialOption{
		// A server that is back is found within a second, however long it was
		// away. The library's own limit is two minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 3 * time.Second,
		}),
	}
	options = append(options, login.options()...)
	if servers.TLS != nil {
		options = append(options, grpc.WithTransportCredentials(newSecured(servers, known)))
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: servers.Endpoints,
		TLS:       servers.TLS,
		Logger:    zap.NewNop(), // what a call came to is in its own error
		// A member that was cut off is noticed also when no packet says so. The
		// client library allows no shorter interval. A session always has a stream;
		// where nothing is asked, etcd takes pings for an attack and hangs up.
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		DialOptions:          options,
	})
	if err == nil && login != nil {
		login.auth = client.Auth
	}
	return client, err
}
