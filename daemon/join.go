package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
)

const (
	// joinTimeout bounds one try to join. coldAfter is how long the first try may take before a grant in the journal is used
	// without the coordinator.
	joinTimeout = 2 * time.Second
	coldAfter   = time.Second
	// firstJoinRetry and lastJoinRetry bound the time between tries.
	firstJoinRetry = 100 * time.Millisecond
	lastJoinRetry  = 2 * time.Second
)

// lend joins and holds a worker ID until ctx ends, and returns the coordinator that it is held with, for giving it back.
func (d *Daemon) lend(ctx context.Context, inherited *journal.Contents) (coord.Coordinator, error) {
	c, err := d.join(ctx, inherited)
	if err != nil || c == nil {
		return c, err
	}
	life, end := context.WithCancel(ctx)
	defer end()
	var watching sync.WaitGroup
	var failure error
	watching.Go(func() {
		failure = d.outlive(life, c)
		end()
	})
	err = d.keeper.Lend(life)
	end()
	watching.Wait()
	return c, errors.Join(failure, err)
}

// outlive waits until a coordinator that runs in this process has failed for good, as one does that could not write to its disk, and
// then until the last grant has ended: up to there nothing is missing. Only a new start can open the coordinator again.
func (d *Daemon) outlive(ctx context.Context, c coord.Coordinator) error {
	f, ok := c.(interface{ Failed() <-chan struct{} })
	if !ok {
		<-ctx.Done()
		return nil
	}
	select {
	case <-f.Failed():
	case <-ctx.Done():
		return nil
	}
	d.log.Error("the coordinator in this process has failed; issuing goes on to the end of the grant", "ends", d.layout.StartOf(d.keeper.Holding().Granted))
	for d.layout.TickAt(d.clock.Now().Wall) <= d.keeper.Holding().Granted {
		if d.clock.Sleep(ctx, time.Second) != nil {
			return nil
		}
	}
	return fmt.Errorf("the coordinator %s has failed and its last grant has ended: start the daemon again", d.config.coordinator().Text)
}

// join joins the cluster, trying again until ctx ends; then it returns nothing. While the coordinator does not answer, issuing begins from
// a grant in the journal, if there is one that has not ended. A cluster that this daemon does not fit into is an error.
func (d *Daemon) join(ctx context.Context, inherited *journal.Contents) (coord.Coordinator, error) {
	timeout, retry := joinTimeout, firstJoinRetry
	if inherited != nil {
		timeout = coldAfter
	}
	var coordinator coord.Coordinator
	var said string
	for {
		try, cancel := context.WithTimeout(ctx, timeout)
		err := d.tryJoin(ctx, try, &coordinator)
		cancel()
		var layout *coord.LayoutError
		var foreign *grant.ForeignError
		var configuration *connect.ConfigError
		switch {
		case err == nil:
			return coordinator, nil
		case errors.As(err, &layout), errors.As(err, &foreign), errors.Is(err, connect.ErrFailed), errors.As(err, &configuration):
			return coordinator, err
		case ctx.Err() != nil:
			return coordinator, nil
		}
		d.keeper.NotJoined(err)
		if inherited != nil {
			d.coldStart(*inherited)
			inherited, timeout = nil, joinTimeout
		}
		if text := err.Error(); text != said {
			d.log.Warn("the cluster is not joined; trying again", "error", err)
			said = text
		}
		if d.clock.Sleep(ctx, retry) != nil {
			return coordinator, nil
		}
		retry = min(2*retry, lastJoinRetry)
	}
}

// tryJoin opens the coordinator, unless an earlier try has, and joins within try. An embedded coordinator may take as long as its disk
// does: to give it up would only start it over.
func (d *Daemon) tryJoin(ctx, try context.Context, coordinator *coord.Coordinator) error {
	if *coordinator == nil {
		access, err := d.config.Access()
		if err != nil {
			return fmt.Errorf("coordinator %q: %w", d.config.coordinator().Text, err)
		}
		access.Identity = d.identity()
		access.Log = d.log.Named("coord")
		c, err := connect.Open(ctx, access)
		if err != nil {
			return fmt.Errorf("coordinator %q: %w", d.config.coordinator().Text, err)
		}
		*coordinator = d.witness.coordinator(c)
	}
	cluster, err := (*coordinator).Join(try, coord.Layout{
		Text:    d.keeper.LayoutText(),
		Workers: min(d.layout.Workers(), coord.MaxWorkers),
	})
	if err != nil {
		return fmt.Errorf("coordinator %q: %w", d.config.coordinator().Text, err)
	}
	d.cluster.Store(&cluster)
	if err := d.keeper.Attach(*coordinator, cluster); err != nil {
		return err
	}
	d.log.Info("joined the cluster", "coordinator", d.config.coordinator().Text, "cluster", cluster.UUID)
	if d.config.coordinator().HostOnly {
		d.log.Warn("the coordinator is embedded: IDs are unique on this host only; for several hosts give each the same --coord etcd://... or zk://...")
	}
	return nil
}

// identity is what the daemon is known as in the coordinator.
func (d *Daemon) identity() coord.Identity {
	return coord.Identity{
		Host:        d.config.Host,
		PID:         os.Getpid(),
		Incarnation: strings.ReplaceAll(d.incarnation, "-", ""),
		Version:     d.config.Version,
	}
}

// coldStart begins to issue from the journal's grant, if it has one.
func (d *Daemon) coldStart(c journal.Contents) {
	err := d.keeper.ColdStart(c)
	switch {
	case err == nil:
		d.log.Warn("the coordinator does not answer; issuing from the journal's grant")
	case errors.Is(err, grant.ErrRefused):
		d.log.Warn("there is nothing to issue from", "reason", err)
	case errors.Is(err, grant.ErrNoGrant):
		d.log.Info("the coordinator does not answer, and there is nothing to issue from", "reason", err)
	default:
		d.log.Error("the coordinator does not answer, and the journal's grant is not used", "error", err)
	}
}
