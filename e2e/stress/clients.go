package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/flakeward/flakeward/e2e/load"
)

// clients is the clients, each with a connection of its own.
type clients struct {
	members []*member
	reports chan report
	ctx     context.Context
	end     context.CancelFunc
	parts   sync.WaitGroup
}

type member struct {
	*load.Client
	lives map[uint32][]int64 // all IDs, by the life of the daemon that they came from
}

// report is what a client says.
type report struct {
	member int
	Got    uint64       // IDs of this life by now
	Held   bool         // the last requests are sent
	Ending *load.Ending // of this life
	err    error        // the client is of no use any more
}

// newClients makes n clients. They end with ctx.
func newClients(ctx context.Context, n int, seed uint64) *clients {
	c := &clients{reports: make(chan report)}
	c.ctx, c.end = context.WithCancel(ctx)
	for i := range n {
		c.members = append(c.members, &member{lives: map[uint32][]int64{}, Client: &load.Client{
			Random: rand.New(rand.NewPCG(seed+uint64(i)+1, 0)),
			Got:    func(ids uint64) { c.say(report{member: i, Got: ids}) },
			Held:   func() { c.say(report{member: i, Held: true}) },
		}})
	}
	return c
}

func (c *clients) say(r report) {
	select {
	case c.reports <- r:
	case <-c.ctx.Done():
	}
}

// errSilent is that the daemon answers nobody any more.
var errSilent = fmt.Errorf("no client has got anything for %v", longestSilence)

// next is the next report of any client.
func (c *clients) next(ctx context.Context) (report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longestSilence, errSilent)
	defer cancel()
	select {
	case r := <-c.reports:
		if r.err != nil {
			return r, fmt.Errorf("client %d: %w", r.member, r.err)
		}
		return r, nil
	case <-ctx.Done():
		return report{}, fmt.Errorf("waiting for the clients: %w", context.Cause(ctx))
	}
}

// pull has all clients pull in a life, after all have ended the one before.
func (c *clients) pull(life uint32, socket string) {
	for i, m := range c.members {
		m.Keep = func(ids []int64) { m.lives[life] = append(m.lives[life], ids...) }
		c.parts.Go(func() {
			ending, err := m.Pull(c.ctx, socket)
			c.say(report{member: i, Ending: &ending, err: err})
		})
	}
}

// of is the IDs that each client got in a life.
func (c *clients) of(life uint32) (all [][]int64) {
	for _, m := range c.members {
		all = append(all, m.lives[life])
	}
	return all
}

// all is all IDs that the clients got.
func (c *clients) all() (ids []int64) {
	for _, m := range c.members {
		for _, of := range m.lives {
			ids = append(ids, of...)
		}
	}
	return ids
}

// places tells where IDs came from.
func (c *clients) places(of []int64) (places []string) {
	for i, m := range c.members {
		for life, ids := range m.lives {
			for _, id := range ids {
				if slices.Contains(of, id) {
					places = append(places, fmt.Sprintf("ID %d came to client %d in life %d", id, i, life))
				}
			}
		}
	}
	return places
}

// close ends the clients and waits for them.
func (c *clients) close() {
	c.end()
	c.parts.Wait()
}
