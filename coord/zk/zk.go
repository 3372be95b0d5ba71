// Package zk is the coordinator in ZooKeeper.
//
// A claim is an ephemeral sequential node. Of those that name one worker ID, the one
// with the lowest sequence number owns it. Each record is written only in a Multi that also
// checks the cluster record and the record's version, so a claimant that is wrong about
// anything fails to write. Claims, sessions, and the client's view of them, decide only when
// a worker ID changes hands.
package zk

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/secure"
)

// DefaultChroot is the root of the tree when none is configured.
const DefaultChroot = "/flakeward"

// DefaultTimeout is the session's timeout when none is configured.
const DefaultTimeout = 10 * time.Second

// DefaultTryTimeout bounds a request when nothing else is configured.
const DefaultTryTimeout = 5 * time.Second

// Servers says how to reach an ensemble of ZooKeeper.
type Servers struct {
	// Addresses are the members' client addresses, each host:port.
	Addresses []string
	// Chroot is the root of the tree, DefaultChroot if empty. It is made if it is
	// not there, with all above it.
	Chroot string
	// User and Password, if not empty, are given to the servers (digest): all that
	// is made is then shut to everybody else. Without TLS they travel unencrypted.
	User     string
	Password string
	// TLS, if not nil, is how the servers are spoken to. Each must prove the name in its address.
	TLS *tls.Config
	// Current, if not nil, has what is taken in the place of TLS once it was read again, and
	// passwords that the user has as well from then on.
	Current *secure.Current
}

// Config is what a Coordinator needs besides servers.
type Config struct {
	// Timeout is the session's: a worker ID whose daemon died is free after that
	// long. Whole milliseconds, 1 s to 1 h; DefaultTimeout if 0. The servers may
	// give another one, by default from 2 to 20 times their tickTime, which is 2 s.
	Timeout time.Duration
	// TryTimeout bounds each request to the servers, so that one that gets no
	// answer is given up and named; DefaultTryTimeout if 0.
	TryTimeout time.Duration
	// Identity names this daemon.
	Identity coord.Identity
	// Expired is called when a session has expired, and must not wait; nil: nobody is to know.
	Expired func()
	// Clock tells since when a claim is held, for people to read; clockguard.System if nil.
	Clock clockguard.Clock
	// Log takes what operators should know; nil for none.
	Log hclog.Logger
}

// Coordinator implements coord.Coordinator and coord.Operator. Make it with Dial.
type Coordinator struct {
	*claims.Coordinator
	store *store
}

// Dial returns a coordinator. It sends nothing: servers that cannot be reached are
// the error of Join. It returns an error for a configuration that is impossible.
func Dial(servers Servers, config Config) (*Coordinator, error) {
	s, err := newStore(servers, config)
	if err != nil {
		return nil, err
	}
	c, err := claims.New(s, claims.Config{Identity: config.Identity, Clock: config.Clock, Log: config.Log})
	if err != nil {
		return nil, err
	}
	return &Coordinator{Coordinator: c, store: s}, nil
}

// store implements claims.Store.
type store struct {
	tree
	client *client
}

// newStore checks and completes the configuration.
func newStore(servers Servers, config Config) (*store, error) {
	if config.Timeout == 0 {
		config.Timeout = DefaultTimeout
	}
	if config.TryTimeout == 0 {
		config.TryTimeout = DefaultTryTimeout
	}
	if config.Log == nil {
		config.Log = hclog.NewNullLogger()
	}
	if config.Expired == nil {
		config.Expired = func() {}
	}
	t, err := parseRoot(servers.Chroot)
	switch {
	case err != nil:
		return nil, err
	case len(servers.Addresses) == 0:
		return nil, errors.New("zk: no server is named; give at least one host:port")
	case config.Timeout < time.Second || config.Timeout > time.Hour || config.Timeout%time.Millisecond != 0:
		return nil, fmt.Errorf("zk: the session's timeout is %v; use whole milliseconds from 1s to 1h", config.Timeout)
	case config.TryTimeout < 0:
		return nil, fmt.Errorf("zk: the timeout of a request is %v; use a positive one", config.TryTimeout)
	case (servers.User == "") != (servers.Password == ""):
		return nil, errors.New("zk: a user needs a password, and a password a user; give both or neither")
	case strings.Contains(servers.User, ":"):
		return nil, errors.New("zk: the user has a colon, which ZooKeeper's digest takes for the password's beginning; use another name")
	}
	for _, address := range servers.Addresses {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return nil, fmt.Errorf("zk: the server %q is not host:port: %w", address, err)
		}
	}
	return &store{tree: t, client: newClient(servers, config, t.root)}, nil
}

// Name implements claims.Store.
func (s *store) Name() string { return s.client.name }

// Path implements claims.Store.
func (s *store) Path(key string) string { return s.path(key) }

// Close implements claims.Store. If the session cannot be ended within about a
// second, the claims are freed when it expires. A client library that does not end
// is left behind after about five; the error says so.
func (s *store) Close() error { return s.client.finish() }
