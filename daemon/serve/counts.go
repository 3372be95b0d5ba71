package serve

import (
	"sync/atomic"

	"github.com/flakeward/flakeward/daemon/resp"
)

// counts is written by the accept loop and the engine, and read by anyone.
type counts struct {
	accepted, ended, rejected atomic.Uint64
	requests, ids, errors     atomic.Uint64
}

func (c *counts) open() uint64 { return c.accepted.Load() - c.ended.Load() }

// add publishes what a handler has done since it was asked last.
func (c *counts) add(now, last resp.Tally) {
	if now == last {
		return
	}
	c.requests.Add(now.Requests - last.Requests)
	c.ids.Add(now.IDs - last.IDs)
	if now.Errors != last.Errors {
		c.errors.Add(now.Errors - last.Errors)
	}
}
