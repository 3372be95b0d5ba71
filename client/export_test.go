package client

import (
	"context"
	"net"
	"time"
)

// What daemons say.
var (
	MaxCount    = maxCount
	Unavailable = unavailable
)

// Through has the client dial with f.
func Through(f func(context.Context) (net.Conn, error)) Option {
	return func(o *options) { o.dial = f }
}

// Stock is how many IDs c has in stock.
func Stock(c *Client) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int64(0)
	for _, r := range append([]*run{c.current.Load()}, c.behind...) {
		n += r.n - r.used()
	}
	return n
}

// Delay is delay.
func Delay(failures int, random float64) time.Duration { return delay(failures, random) }

// Lead is how many of n IDs are left when more are asked for, at that use, if requests take trip.
func Lead(used int64, elapsed, trip time.Duration, n int64) int64 {
	now := time.Now()
	d := demand{asked: now}
	d.sent(used, now.Add(elapsed))
	d.answered(trip)
	return d.lead(n)
}
