package process

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

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

// AwaitPause waits until a child has stopped by itself, on all its threads. It is an error if the
// child ends, or ctx does.
func AwaitPause(ctx context.Context, child *os.Process) error {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, child.Pid, &info, unix.WSTOPPED|unix.WNOWAIT|unix.WNOHANG, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("waitid", err)
		}
		if err == nil && info.Signo != 0 {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
