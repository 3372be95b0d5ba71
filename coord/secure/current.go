package secure

import (
	"crypto/tls"
	"sync/atomic"
)

// Current is what servers are spoken to with, as it was read last. Its methods may be called from
// any goroutine; those of nil return what they are given.
type Current struct {
	read atomic.Pointer[read]
}

type read struct {
	tls      *tls.Config
	password string
}

// Set has all connections and logins from now on made with config and password; a password that is
// empty, or a nil config, stays as it is given to the methods.
func (c *Current) Set(config *tls.Config, password string) { c.read.Store(&read{config, password}) }

// TLS returns what was set last, or otherwise.
func (c *Current) TLS(otherwise *tls.Config) *tls.Config {
	if c != nil {
		if r := c.read.Load(); r != nil && r.tls != nil {
			return r.tls
		}
	}
	return otherwise
}

// Password returns what was set last, or otherwise.
func (c *Current) Password(otherwise string) string {
	if c != nil {
		if r := c.read.Load(); r != nil && r.password != "" {
			return r.password
		}
	}
	return otherwise
}
