package zkserver

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// port is a TCP port on loopback, kept for a server that may come, go and come again.
//
// It is bound here, but nothing listens on it: whoever connects is refused. The kernel
// gives such a port to nobody else, neither to listeners nor to outgoing connections.
// The server can bind it all the same, because both ask for SO_REUSEADDR, which on
// Linux forbids a second socket only beside one that listens.
type port struct {
	number int
	fd     int
}

func reserve() (port, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return port{}, fmt.Errorf("cannot reserve a port: %w", os.NewSyscallError("socket", err))
	}
	p := port{fd: fd}
	if err := p.bind(); err != nil {
		_ = p.release()
		return port{}, fmt.Errorf("cannot reserve a port: %w", err)
	}
	return p, nil
}

func (p *port) bind() error {
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
	p.number = bound.(*syscall.SockaddrInet4).Port
	return nil
}

func (p *port) address() string { return net.JoinHostPort(host, strconv.Itoa(p.number)) }

// release gives the port back.
func (p *port) release() error {
	if p.fd == 0 {
		return nil
	}
	err := syscall.Close(p.fd)
	*p = port{}
	return os.NewSyscallError("close", err)
}
