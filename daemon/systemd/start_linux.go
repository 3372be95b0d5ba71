package systemd

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts a program that may go on in this process's place, with the same environment. Under
// systemd the program is systemd's own child: systemd waits for the end of no other.
func (s *Service) Start(program string, args ...string) (*Started, error) {
	pidfd := -1
	as := &os.ProcAttr{Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{PidFD: &pidfd}}
	if s != nil && s.manager != nil {
		as.Env = append(as.Env, s.passed...)
		as.Sys.Cloneflags = unix.CLONE_PARENT
	}
	p, err := os.StartProcess(program, append([]string{program}, args...), as)
	if err != nil {
		return nil, fmt.Errorf("the program cannot be started: %w", err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		awaitExit(pidfd)
		_, _ = p.Wait() // which knows no child of systemd's
	}()
	return &Started{Ended: over, Stop: func() { _ = p.Signal(syscall.SIGTERM) }}, nil // unless it has ended
}

// awaitExit returns once the process has ended, and closes its descriptor.
func awaitExit(pidfd int) {
	defer unix.Close(pidfd) // it was only looked at
	for {
		end := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
		if _, err := unix.Poll(end, -1); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
