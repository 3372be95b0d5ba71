package zk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/internal/machine"
)

// leader is asked what time it is: the modification time of a write of one's own is of its clock,
// and the only time that ZooKeeper tells.
type leader struct {
	tree
	client *client
	fences *fences
}

// Clocks implements claims.Store. It asks the leader, unless that may be on this machine: nothing
// says which server leads, so that is so as soon as one of them is here.
func (l leader) Clocks(ctx context.Context, layout claims.Entry, clock clockguard.Clock) ([]claims.Shown, error) {
	ctx, cancel := context.WithTimeout(ctx, claims.ClocksTimeout)
	defer cancel()
	var shown claims.Shown
	here, err := l.client.here(ctx)
	switch {
	case err != nil:
		err = fmt.Errorf("%s: %s: find out which servers are on this machine: %w", l.client.name, kindClock, err)
	case here:
		return nil, nil
	default:
		shown, err = l.touch(ctx, layout, clock)
	}
	if moved := (*claims.MovedError)(nil); errors.As(err, &moved) {
		return nil, err
	}
	if err != nil {
		shown = claims.Shown{Err: err}
	}
	shown.Server = "the leader of " + l.client.name
	return []claims.Shown{shown}, nil
}

// here reports whether a server is at one of this machine's addresses. It is an error if that is
// not known of one of them.
func (c *client) here(ctx context.Context) (bool, error) {
	local, errs := make([]bool, len(c.servers.Addresses)), make([]error, len(c.servers.Addresses))
	var all sync.WaitGroup
	for i, server := range c.servers.Addresses {
		all.Go(func() { local[i], errs[i] = machine.Serves(ctx, server, c.config.Own) })
	}
	all.Wait()
	for _, l := range local {
		if l {
			return true, nil
		}
	}
	return false, errors.Join(errs...)
}

// The place of the only operation after a fence.
const atClock = fenced

// touch sets the clock node, which is made if it is missing.
func (l leader) touch(ctx context.Context, layout claims.Entry, clock clockguard.Clock) (claims.Shown, error) {
	type answer struct {
		results        []gozk.MultiResponse
		sent, answered clockguard.Mono
	}
	for {
		f, err := l.fences.make(ctx, layout)
		if err != nil {
			return claims.Shown{}, err
		}
		set := append(l.fences.guard(f), &gozk.SetDataRequest{Path: l.clock(), Version: anyVersion})
		a, err := tell(ctx, l.client, kindClock, l.clock(), func(conn *gozk.Conn) (a answer, err error) {
			a.sent = clock.Now().Mono
			a.results, err = conn.Multi(set...)
			a.answered = clock.Now().Mono
			return a, err
		})
		switch {
		case err == nil && len(a.results) == len(set) && a.results[atClock].Stat != nil:
			told := time.UnixMilli(a.results[atClock].Stat.Mtime)
			return claims.Shown{Time: told, Unit: time.Millisecond, Sent: a.sent, Answered: a.answered}, nil
		case err == nil:
			return claims.Shown{}, fmt.Errorf("%s: %s: %d results of %d operations", l.client.name, kindClock, len(a.results), len(set))
		case !verdict(err):
			return claims.Shown{}, err
		case failedAt(a.results) == atClock:
			err = l.makeClock(ctx, f)
		default:
			err = l.moved(ctx, f)
		}
		if err == nil && ctx.Err() != nil {
			err = l.client.errChanging(ctx, kindClock)
		}
		if err != nil {
			return claims.Shown{}, err
		}
	}
}

// makeClock makes the clock node, unless the layout is another one by now.
func (l leader) makeClock(ctx context.Context, f fence) error {
	_, err := tell(ctx, l.client, kindClock, l.clock(), func(conn *gozk.Conn) ([]gozk.MultiResponse, error) {
		return conn.Multi(append(l.fences.guard(f), &gozk.CreateRequest{Path: l.clock(), Acl: l.client.access(), Flags: gozk.FlagPersistent})...)
	})
	if verdict(err) {
		return nil // another has made it, or the next write finds out
	}
	return err
}

// moved returns *claims.MovedError if the layout is another one than the fence's.
func (l leader) moved(ctx context.Context, f fence) error {
	if err := l.client.sync(ctx, kindClock); err != nil {
		return err
	}
	return l.fences.stands(ctx, f)
}
