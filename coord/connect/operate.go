package connect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/google/uuid"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/embedded"
)

// Operate returns what an operator's command does its work with. It makes no cluster:
// for embedded: it asks the daemon that runs in the state directory, or, if none runs
// there, starts the server itself and Close stops it.
func Operate(ctx context.Context, c Config) (coord.Operator, error) {
	if c.Identity.Incarnation == "" {
		c.Identity.Incarnation = strings.ReplaceAll(uuid.NewString(), "-", "")
	}
	l, err := c.locate()
	if err != nil {
		return nil, err
	}
	switch l.scheme {
	case schemeEmbedded:
		return c.operateEmbedded(ctx)
	case schemeDir:
		return c.openDir(l)
	}
	return c.dial(l)
}

func (c *Config) operateEmbedded(ctx context.Context) (coord.Operator, error) {
	dir, err := c.embeddedDir()
	if err != nil {
		return nil, err
	}
	// To start a server where none was would be to make a cluster.
	born, err := embedded.Born(dir)
	if err != nil {
		return nil, fmt.Errorf("the embedded coordinator in %s cannot be looked at: %w; run this as the daemon's user", dir, err)
	}
	if !born {
		return nil, fmt.Errorf("in %s: %w", dir, coord.ErrNoCluster)
	}
	if err := ownsDir(dir, os.Geteuid()); err != nil {
		return nil, err
	}
	alone, err := c.startEmbedded(ctx)
	if err == nil {
		return alone, nil
	}
	if !errors.Is(err, embedded.ErrInUse) {
		return nil, err
	}
	client, err := embedded.Dial(ctx, dir, c.Log.Named("etcd"))
	if err != nil {
		return nil, err
	}
	config := c.etcd("")
	config.Where, config.StartOffset, config.History = "embedded", true, embeddedHistory
	coordinator, err := etcd.New(client, config)
	if err != nil {
		return nil, errors.Join(&ConfigError{err}, closeClient(client))
	}
	return &operating{coordinator, client}, nil
}

// operating is a coordinator together with the client that it uses.
type operating struct {
	*etcd.Coordinator
	client *clientv3.Client
}

// Close ends the coordinator and then its client.
func (v *operating) Close() error {
	return errors.Join(v.Coordinator.Close(), closeClient(v.client))
}

// closeClient closes a client, which answers with the end of its own context.
func closeClient(client *clientv3.Client) error {
	if err := client.Close(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// ownsDir returns an error if the directory is not the user's: a server that is
// started there leaves files that its daemon could not open.
func ownsDir(dir string, user int) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if owner := int(info.Sys().(*syscall.Stat_t).Uid); owner != user {
		return fmt.Errorf("the embedded coordinator in %s belongs to the user %d and this is run by %d: run it as the daemon's user", dir, owner, user)
	}
	return nil
}
