// Package port reserves TCP ports on loopback for servers that tests start.
package port

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// Port is a TCP port on loopback, kept for a server that may come, go and come again.
//
// It is bound here, but nothing listens on it: whoever connects is refused. The kernel
// gives such a port to nobody else, neither to listeners nor to outgoing connections.
// The server can bind it all the same, because both ask for SO_REUSEADDR, which on
// Linux forbids a second socket only beside one that listens.
type Port struct {
	Number int
	fd     int
}

// Reserve takes a port that nobody has.
func Reserve() (Port, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return Port{}, fmt.Errorf("cannot reserve a port: %w", os.NewSyscallError("socket", err))
	}
	p := Port{fd: fd}
	if err := p.bind(); err != nil {
		_ = p.Release()
		return Port{}, fmt.Errorf("cannot reserve a port: %w", err)
	}
	return p, nil
}

const host = "127.0.0.1"

func (p *Port) bind() error {
	if err := syscall.SetsockoptInt(p.fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(p.fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return os.NewSyscallError("bind", err)
	}
	bound, err := syscall.Getsockname(p.fd)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	p.Number = bound.(*syscall.SockaddrInet4).Port
	return nil
}

// Address is the port as host:port.
func (p *Port) Address() string { return net.JoinHostPort(host, strconv.Itoa(p.Number)) }

// Release gives the port back.
func (p *Port) Release() error {
	if p.fd == 0 {
		return nil
	}
	err := syscall.Close(p.fd)
	*p = Port{}
	return os.NewSyscallError("close", err)
}
