//go:build unix && !linux

package serve

import (
	"net"

	"golang.org/x/sys/unix"
)

// hangup is what poll tells of a connection whose client has gone.
const hangup = unix.POLLHUP

func startEngine(c Config, a *web) (engine, error) { return startGoroutines(c, a), nil }

// refuseMore is not known to be possible here.
func refuseMore(net.Listener, func(net.Conn)) {}
