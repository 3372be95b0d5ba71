//go:build !linux

package zkserver

import (
	"fmt"
	"net"
	"strconv"
)

// port is a TCP port on loopback that was free a moment ago: see port_linux.go for
// where it can be kept.
type port struct {
	number int
}

func reserve() (port, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return port{}, fmt.Errorf("cannot find a free port: %w", err)
	}
	defer l.Close() // nothing was sent
	return port{number: l.Addr().(*net.TCPAddr).Port}, nil
}

func (p *port) address() string { return net.JoinHostPort(host, strconv.Itoa(p.number)) }

func (p *port) release() error { return nil }
