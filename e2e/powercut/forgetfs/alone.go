//go:build linux

package forgetfs

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

const aloneVariable = "FORGETFS_ALONE"

// Alone runs this program's tests again, by run, in a child process whose mounts nobody else sees
// and which end with it, and returns the child's exit status. Who is not root gets a user namespace
// for it. It is for TestMain.
func Alone(run func() int) int {
	if os.Getenv(aloneVariable) != "" {
		return run()
	}
	child := exec.Command("/proc/self/exe", os.Args[1:]...)
	child.Args[0] = os.Args[0]
	child.Env = append(os.Environ(), aloneVariable+"=1")
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if id := os.Getuid(); id != 0 {
		child.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
		child.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	err := child.Run()
	if child.ProcessState == nil {
		fmt.Fprintf(os.Stderr, "no mount namespace: %v: %v\n", ErrNoFUSE, err)
		return 1
	}
	return max(child.ProcessState.ExitCode(), 0)
}
