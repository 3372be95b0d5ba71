package process

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pause stops a child of this process by SIGSTOP, and returns when each of its threads has stopped:
// the kernel only notes the signal, and a busy machine may let it run on for a while. It is an
// error if the child ends meanwhile.
func Pause(child *os.Process) error {
	if err := child.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		err := unix.Waitid(unix.P_PID, child.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("waitid", err)
		}
	}
}
