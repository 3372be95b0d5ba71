//go:build unix && !linux

package serve

import "net"

func startEngine(c Config, n *counts) (engine, error) { return startGoroutines(c, n) }

// refuseMore is not known to be possible here.
func refuseMore(net.Listener) []net.Conn { return nil }
