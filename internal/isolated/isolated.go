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
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
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

// Network is a network that is not connected to anything. It ends with the test that made it.
type Network struct{ space *os.File }

// NewNetwork takes root.
func NewNetwork(t testing.TB) (*Network, error) {
	n := &Network{}
	err := on(func() error { return unix.Unshare(unix.CLONE_NEWNET) }, func() (err error) {
		n.space, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("a network of its own cannot be had: %w", err)
	}
	t.Cleanup(func() { _ = n.space.Close() })
	return n, nil
}

// Path is the network as nsenter and ip are told of it.
func (n *Network) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.space.Fd()) }

// Do runs do in the network: what that opens and starts stays of it.
func (n *Network) Do(do func() error) error {
	return on(func() error { return unix.Setns(int(n.space.Fd()), unix.CLONE_NEWNET) }, do)
}

// on has this goroutine's thread enter a network, and go back when do is done. The thread may not
// end: daemons that it has started would end with it.
func on(enter, do func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer here.Close() // it was only opened
	if err := enter(); err != nil {
		return err
	}
	defer func() {
		if err := unix.Setns(int(here.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(err) // the thread cannot be used for anything else any more
		}
	}()
	return do()
}
