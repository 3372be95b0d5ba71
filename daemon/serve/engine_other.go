//go:build unix && !linux

package serve

import "net"

func startEngine(c Config, a *web) (engine, error) { return startGoroutines(c, a) }

// refuseMore is not known to be possible here.
func refuseMore(net.Listener, func(net.Conn)) {}
