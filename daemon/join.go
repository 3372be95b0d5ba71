package daemon

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/dir"
	"github.com/flakeward/flakeward/internal/fault"
	"github.com/flakeward/flakeward/internal/form"
)

// hold joins and holds a worker ID until ctx ends, and returns the coordinator that it is held
// with, for giving it back.
func (d *Daemon) hold(ctx context.Context) (coord.Coordinator, error) {
	fault.Point(fault.NewcomerServes)
	c, err := d.joinedTo, error(nil)
	if d.joinedTo = nil; c == nil {
		c, err = d.lifecycle.Join(ctx)
	}
	if err != nil || c == nil || ctx.Err() != nil { // with ctx, Join ends without a cluster
		return c, err
	}
	parts, holding := errgroup.WithContext(ctx)
	if d.stays != nil {
		parts.Go(func() error { return d.look(holding) })
	}
	parts.Go(func() error { return d.lifecycle.Holder.Hold(holding) })
	return c, parts.Wait()
}

// look has an end made of the lane once another directory is in the place of the coordinator's,
// also while nothing is written there.
func (d *Daemon) look(ctx context.Context) error {
	for d.clock.Sleep(ctx, time.Duration(float64(d.config.Grant.Publish)*(0.9+0.2*rand.Float64()))) == nil {
		if err := d.stays(); err != nil {
			d.lifecycle.Holder.NotJoined(err)
			d.lifecycle.Holder.Revoke()
			return err
		}
	}
	return nil
}

func (d *Daemon) joined(cluster coord.Cluster) {
	d.enter(cluster.UUID, d.server.Disconnect)
	d.web.members.joined.Store(&cluster)
}

// enter has UUIDs name a cluster, before its first ID is issued. If connections were opened to
// another one, disconnect closes them before: they may have IDs of that still to be written, and a
// client may demand a cluster, and looks at it once for each connection.
func (d *Daemon) enter(cluster string, disconnect func()) {
	if d.cluster != "" && d.cluster != cluster {
		d.log.Warn("the cluster is another one than before, so all connections are closed", "before", d.cluster, "cluster", cluster)
		disconnect()
	}
	d.cluster = cluster
	d.coder.Store(form.New(d.layout, cluster))
}

// warn says within what IDs are unique, if that is less than a cluster.
func (d *Daemon) warn() {
	if coordinator := d.config.coordinator(); coordinator.Local {
		d.log.Info("the coordinator is a directory: IDs are unique on this host only, among its daemons with the same --coord; for several hosts, name an etcd or a ZooKeeper",
			"coord", coordinator.Text)
	}
}

// open opens the coordinator.
func (d *Daemon) open(ctx context.Context) (coord.Coordinator, error) {
	c, err := d.opened, error(nil)
	if d.opened = nil; c == nil {
		c, err = d.dial(ctx)
	}
	if err != nil {
		return nil, err
	}
	if directory, ok := c.(*dir.Coordinator); ok {
		d.stays = directory.Stays
	}
	c = d.coordinator(d.metrics.Coordinator(c))
	d.web.members.coordinator.Store(&c)
	return c, nil
}

// final reports whether an error of opening or joining stays as long as this process runs.
func final(err error) bool {
	var configuration *connect.ConfigError
	var unserved *coord.NotServedError
	return errors.As(err, &configuration) || errors.As(err, &unserved) && !unserved.Importing
}

// Identity is what the daemon is known as in the coordinator.
func (d *Daemon) Identity() coord.Identity {
	identity := coord.Identity{
		Host:        d.config.Host,
		PID:         os.Getpid(),
		Incarnation: d.incarnationToken(),
		Boot:        d.clock.BootID(),
		Version:     d.config.Version,
	}
	if d.lock != nil && identity.Boot != "" {
		identity.Dead, _ = strings.CutSuffix(d.lock.Before, noteEnd(identity.Boot))
	}
	return identity
}

// note is what the next start that gets the socket's lock, in the same boot of the machine, finds
// of this process: by it that one knows whose claim is a dead process's. The lock file of a machine
// that was copied, and boots, names one that may live elsewhere.
func (d *Daemon) note() string { return d.incarnationToken() + noteEnd(d.clock.BootID()) }

func noteEnd(boot string) string { return " of boot " + boot }

// incarnationToken is the incarnation as the coordinator knows it.
func (d *Daemon) incarnationToken() string {
	return strings.ReplaceAll(*d.incarnation.Load(), "-", "")
}
