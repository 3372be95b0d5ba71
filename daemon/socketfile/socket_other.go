//go:build unix && !linux

package socketfile

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// socket cannot ask for the descriptor to be closed on exec at once, so it keeps others from
// starting processes meanwhile.
func socket() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	unix.CloseOnExec(fd)
	return fd, nil
}
