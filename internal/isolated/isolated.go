//go:build linux

// Package isolated has tests run in a mount namespace of their own, which ends with them: nobody
// else sees what they mount. Who is not root gets a user namespace, too, and is root there.
package isolated

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// inside is set in the process that has the namespace.
const inside = "FLAKEWARD_TEST_ISOLATED"

// Main runs the tests of a package, by run, in a mount namespace, and returns the status to exit
// with. It is for TestMain.
func Main(run func() int) int {
	if os.Getenv(inside) != "" {
		return run()
	}
	child := exec.Command("/proc/self/exe", os.Args[1:]...)
	child.Args[0] = os.Args[0]
	child.Env = append(os.Environ(), inside+"=yes")
	child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL} // with private mounts
	if uid := os.Getuid(); uid != 0 {
		child.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		child.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	signal.Ignore(os.Interrupt) // it goes to both, and the one with the tests ends by it
	err := child.Run()
	if child.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "a mount namespace cannot be had:", err)
		return 1
	}
	if err != nil {
		return max(child.ProcessState.ExitCode(), 1)
	}
	return 0
}
