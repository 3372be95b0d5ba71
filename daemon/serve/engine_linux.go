package serve

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/timeslice"
)

func startEngine(c Config, a *web) (engine, error) {
	if err := timeslice.Request(); err != nil {
		c.Log.Debug("short time slices cannot be requested: beside much other work, requests may wait for longer", "error", err)
	}
	return startLoop(c, a)
}

// refuseMore has the kernel refuse whoever connects to a Unix socket from now on, and hands over
// those who have connected and were not accepted, one after the other. Accept does not return them
// any more once the listener is closed. Those at a socket that is kept wait for the next process
// that serves it.
func refuseMore(l net.Listener, connected func(net.Conn)) {
	if k, ok := l.(interface{ Kept() bool }); ok && k.Kept() {
		return
	}
	sc, ok := l.(syscall.Conn)
	if !ok || l.Addr().Network() != "unix" {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		if unix.Shutdown(int(fd), unix.SHUT_RD) != nil {
			return
		}
		for {
			// The listener does not block, so this ends when there is nobody left.
			fd, _, err := unix.Accept4(int(fd), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
			if err != nil {
				return
			}
			file := os.NewFile(uintptr(fd), "")
			c, err := net.FileConn(file)
			_ = file.Close() // c has its own descriptor
			if err == nil {
				connected(c)
			}
		}
	})
}
