package client

import (
	"context"
	"net"
)

// Unavailable is unavailable.
var Unavailable = unavailable

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
