package peercred

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

func of(c net.Conn) (who Credentials) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return Credentials{}
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return Credentials{}
	}
	_ = raw.Control(func(fd uintptr) {
		// Others may answer, with the kernel's own PID and nobody's user.
		if family, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || family != unix.AF_UNIX {
			return
		}
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			who = Credentials{Known: true, UID: cred.Uid, GID: cred.Gid, PID: cred.Pid, Pod: podOf(cred.Pid)}
		}
	})
	return who
}
