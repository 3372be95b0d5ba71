package singleton

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lockNamespace takes the lock of the network namespace: it listens on an abstract socket
// (unix(7)), of whose name there is one in each network namespace. Nobody is answered there; the
// queue of those who connect is what lets the kernel tell them who listens.
func lockNamespace(name string) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot make the socket that is the lock of this network namespace: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: name})
	if err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		err = &HeldError{Lock: "this network namespace", Place: "the abstract socket " + name, PID: listener(name)}
	case err != nil:
		err = fmt.Errorf("cannot take the lock of this network namespace, the abstract socket %s: %w; name the coordinator with --coord", name, err)
	default:
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

// listener returns the number of the process that listens on an abstract socket; 0: unknown. The
// kernel says which it was at its listen(2), and says 0 of one in a PID namespace that cannot be
// seen from here.
func listener(name string) int {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd) // nothing was written
	if unix.Connect(fd, &unix.SockaddrUnix{Name: name}) != nil {
		return 0
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(peer.Pid)
}
