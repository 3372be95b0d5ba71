//go:build !linux

// Package port reserves TCP ports on loopback for servers that tests start.
package port

import (
	"fmt"
	"net"
	"strconv"
)

// Port is a TCP port on loopback that was free a moment ago: see port_linux.go for
// where it can be kept.
type Port struct {
	Number int
}

const host = "127.0.0.1"

// Reserve finds a port that nobody has.
func Reserve() (Port, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return Port{}, fmt.Errorf("cannot find a free port: %w", err)
	}
	defer l.Close() // nothing was sent
	return Port{Number: l.Addr().(*net.TCPAddr).Port}, nil
}

// Address is the port as host:port.
func (p *Port) Address() string { return net.JoinHostPort(host, strconv.Itoa(p.Number)) }

// Release does nothing here.
func (p *Port) Release() error { return nil }
