package systemd

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// errNotStarted says that there is no systemd that would watch over another process.
var errNotStarted = errors.New("systemd has not started this daemon, so another one is not its affair: start that one with --takeover")

// Start starts a program that may go on in this process's place, with the same environment. The
// program is systemd's own child: systemd waits for the end of no other. ended is closed once the
// program has ended; where the kernel cannot tell, it never is.
func (s *Service) Start(program string, args ...string) (ended <-chan struct{}, err error) {
	if s == nil || s.manager == nil {
		return nil, errNotStarted
	}
	pidfd := -1
	p, err := os.StartProcess(program, append([]string{program}, args...), &os.ProcAttr{
		Env:   append(os.Environ(), s.passed...),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Cloneflags: unix.CLONE_PARENT, PidFD: &pidfd},
	})
	if err != nil {
		return nil, fmt.Errorf("the program cannot be started: %w", err)
	}
	_ = p.Release() // systemd waits for it
	over := make(chan struct{})
	if pidfd >= 0 {
		go func() {
			awaitExit(pidfd)
			close(over)
		}()
	}
	return over, nil
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
