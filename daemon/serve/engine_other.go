//go:build unix && !linux

package serve

import (
	"errors"
	"net"
)

func startEngine(Config, *web) (engine, error) {
	return nil, errors.New("a daemon runs on Linux only: run it there, or in a virtual machine")
}

// refuseMore is for nobody.
func refuseMore(net.Listener, func(net.Conn)) {}
