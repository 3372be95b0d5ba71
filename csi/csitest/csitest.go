//go:build linux

// Package csitest lets tests of the CSI driver mount: in a mount namespace of the test's own, which
// ends with it. It has a stand-in for the daemon, too.
package csitest

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/isolated"
)

// scan is how often the daemon's stand-in looks for new directories.
const scan = 5 * time.Millisecond

// Main runs the tests of a package in a mount namespace.
func Main(m *testing.M) { os.Exit(isolated.Main(m.Run)) }

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
