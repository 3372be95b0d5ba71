//go:build linux

// Package csitest lets tests of the CSI driver mount: in a mount namespace of the test's own, which
// ends with it. It has a stand-in for the daemon, too.
package csitest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// inside is set in the process that has the mount namespace.
	inside = "FLAKEWARD_CSITEST_INSIDE"
	// scan is how often the daemon's stand-in looks for new directories.
	scan = 5 * time.Millisecond
)

// Main runs the tests of a package in a mount namespace. Who is not root gets a user namespace,
// too, and is root there.
func Main(m *testing.M) {
	if os.Getenv(inside) != "" {
		os.Exit(m.Run())
	}
	os.Exit(again())
}

// again runs this program again, in the namespace.
func again() int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "csitest:", err)
		return 1
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid := os.Geteuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	signal.Ignore(os.Interrupt) // it goes to both, and the one with the tests ends by it
	err = cmd.Run()
	var status *exec.ExitError
	switch {
	case errors.As(err, &status):
		return max(status.ExitCode(), 1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "csitest: a mount namespace cannot be had:", err)
		return 1
	}
	return 0
}

// Node is a host as the driver sees it.
type Node struct {
	Kubelet string // a shared mount, as kubelet's directory has to be
	Pods    string // the daemon's --pod-sockets, not made yet
}

// NewNode makes a file system in memory for a test, with a short path. It goes with the test.
func NewNode(tb testing.TB) Node {
	tb.Helper()
	root, err := os.MkdirTemp("/tmp", "csi")
	if err != nil {
		tb.Fatal(err)
	}
	if err := unix.Mount("csitest", root, "tmpfs", 0, ""); err != nil {
		tb.Fatalf("mount: %v", err)
	}
	tb.Cleanup(func() {
		if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
			tb.Errorf("unmount: %v", err)
		}
		if err := os.Remove(root); err != nil {
			tb.Error(err)
		}
	})
	n := Node{filepath.Join(root, "kubelet"), filepath.Join(root, "pods")}
	if err := os.Mkdir(n.Kubelet, 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := unix.Mount(n.Kubelet, n.Kubelet, "", unix.MS_BIND, ""); err != nil {
		tb.Fatal(err)
	}
	if err := unix.Mount("", n.Kubelet, "", unix.MS_SHARED, ""); err != nil {
		tb.Fatal(err)
	}
	return n
}

// Daemon is a stand-in that listens on a socket in each directory of a node's pods, as the daemon
// does, and says nothing to who connects.
type Daemon struct {
	stop    chan struct{}
	stopped sync.WaitGroup
}

// StartDaemon starts a stand-in, which ends with the test or by Stop.
func StartDaemon(tb testing.TB, pods string) *Daemon {
	d := &Daemon{stop: make(chan struct{})}
	d.stopped.Go(func() { d.run(pods) })
	tb.Cleanup(d.Stop)
	return d
}

// Stop closes all sockets and leaves their files, as a daemon that was killed does. It may come
// twice.
func (d *Daemon) Stop() {
	select {
	case <-d.stop:
	default:
		close(d.stop)
	}
	d.stopped.Wait()
}

func (d *Daemon) run(pods string) {
	listening := map[string]*net.UnixListener{}
	defer func() {
		for _, l := range listening {
			_ = l.Close()
		}
	}()
	again := time.NewTicker(scan)
	defer again.Stop()
	for {
		there, _ := filepath.Glob(filepath.Join(pods, "[a-z0-9]*", "socket"))
		for _, dir := range there {
			path := filepath.Join(dir, "flakeward.sock")
			if l := listening[path]; l != nil {
				if _, err := os.Lstat(path); err == nil {
					continue
				}
				_ = l.Close() // of a directory that went, and has come again
			}
			_ = os.Remove(path) // what another daemon left
			if l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err == nil {
				l.SetUnlinkOnClose(false)
				listening[path] = l
			}
		}
		select {
		case <-d.stop:
			return
		case <-again.C:
		}
	}
}
