//go:build linux

// Package isolated has tests run in namespaces of their own, which end with them: nobody else sees
// what they mount, or their network. Who is not root gets a user namespace, too, and is root there.
package isolated

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// inside is set in the process that has the namespaces, to what it is for.
const inside = "FLAKEWARD_TEST_ISOLATED"

// again is this program once more, in namespaces, to be run for what is named.
func again(ctx context.Context, namespaces uintptr, what string, args ...string) *exec.Cmd {
	child := exec.CommandContext(ctx, "/proc/self/exe", args...)
	child.Args[0] = os.Args[0]
	child.Env = append(os.Environ(), inside+"="+what)
	child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: namespaces, Pdeathsig: syscall.SIGKILL} // with private mounts
	if uid := os.Getuid(); uid != 0 {
		child.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		child.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return child
}

// Main runs the tests of a package, by run, in a mount namespace, and returns the status to exit
// with. It is for TestMain.
func Main(run func() int) int {
	const all = "all"
	if os.Getenv(inside) == all {
		return run()
	}
	child := again(context.Background(), syscall.CLONE_NEWNS, all, os.Args[1:]...)
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

// Test runs the test again in a process with such namespaces, fails as that does, and returns true.
// In that process it returns false.
func Test(t *testing.T, namespaces uintptr) (done bool) {
	t.Helper()
	if os.Getenv(inside) == t.Name() {
		return false
	}
	if out, err := again(t.Context(), namespaces, t.Name(), "-test.run=^"+t.Name()+"$", "-test.v").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return true
}
