// Package connect opens the coordinator that a URL names.
package connect

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/embedded"
)

// ErrFailed means that the embedded coordinator has failed for good in this process,
// at its start or later, and that only a new process can open its directory again.
// Open returns it wrapped, with the directory and the first reason.
var ErrFailed = embedded.ErrFailed

// Config is what Open needs.
type Config struct {
	// URL is embedded: or etcd://[user:password@]host[:port],.../prefix.
	URL string
	// StateDir is the daemon's state directory; embedded: keeps its data in
	// etcd below it.
	StateDir string
	// TTL is the session's time to live, in whole seconds, 2 s or more; 10 s if 0.
	TTL time.Duration
	// Identity names the daemon.
	Identity coord.Identity
	// Log takes what operators should know; nil for none.
	Log hclog.Logger
}

// Description says what a URL means, for people to read.
type Description struct {
	// Text is the URL without user and password.
	Text string
	// HostOnly is true when IDs are unique on this host only.
	HostOnly bool
}

// Describe returns what a URL means, or an error that says what is wrong with it.
// Neither shows a password.
func Describe(url string) (Description, error) {
	l, err := parse(url)
	if err != nil {
		return Description{}, err
	}
	return Description{Text: l.String(), HostOnly: l.scheme == schemeEmbedded}, nil
}

// Open returns the coordinator. For embedded: the server has been started, and
// Close stops it; otherwise nothing has been sent, and servers that cannot be
// reached are the error of Join.
func Open(ctx context.Context, c Config) (coord.Coordinator, error) {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	l, err := parse(c.URL)
	if err != nil {
		return nil, err
	}
	config := etcd.Config{Prefix: l.path, TTL: c.TTL, Identity: c.Identity, Log: c.Log.Named("etcd")}
	if l.scheme == schemeEmbedded {
		return openEmbedded(ctx, c, config)
	}
	// Not a bare return: a nil *etcd.Coordinator would be an interface that is not nil.
	remote, err := etcd.Dial(etcd.Servers{Endpoints: l.hosts, User: l.user, Password: l.password}, config)
	if err != nil {
		return nil, err
	}
	return remote, nil
}

// local is a coordinator together with the server that it uses.
type local struct {
	*etcd.Coordinator
	server *embedded.Server
}

func openEmbedded(ctx context.Context, c Config, config etcd.Config) (coord.Coordinator, error) {
	if c.StateDir == "" {
		return nil, errors.New("the embedded coordinator needs a state directory; set one")
	}
	server, err := embedded.Start(ctx, embedded.Config{Dir: filepath.Join(c.StateDir, "etcd"), Log: config.Log})
	if err != nil {
		return nil, err
	}
	config.Where, config.Spread, config.MakeRoom = "embedded", true, server.MakeRoom
	coordinator, err := etcd.New(server.Client(), config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the embedded coordinator: %w", err), server.Close())
	}
	return local{coordinator, server}, nil
}

// Failed is closed when the server has ended by itself. Only a new process can
// open its directory again.
func (l local) Failed() <-chan struct{} { return l.server.Failed() }

// Close ends the session and then the server.
func (l local) Close() error {
	return errors.Join(l.Coordinator.Close(), l.server.Close())
}
