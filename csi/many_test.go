//go:build linux

package csi

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/csi/csitest"
)

// Many pods come at once, as when a node starts, and go at once. The sockets are on a file system of
// their own.
func TestManyPodsAtOnce(t *testing.T) {
	const pods = 200
	h := newHost(t)
	if err := unix.Mount("sockets", h.Pods, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	csitest.StartDaemon(t, h.Pods)
	targets := make([]string, pods)
	for i := range targets {
		targets[i] = h.target(fmt.Sprint("pod", i))
	}
	all := func(do func(volume, target string) error) {
		var done sync.WaitGroup
		for i, target := range targets {
			done.Go(func() {
				if err := do(fmt.Sprint("v", i), target); err != nil {
					t.Errorf("pod %d: %v", i, err)
				}
			})
		}
		done.Wait()
	}
	all(func(volume, target string) error {
		_, err := h.NodePublishVolume(t.Context(), publishOf(volume, target))
		return err
	})
	for _, target := range targets {
		h.serves(target)
	}
	all(func(volume, target string) error {
		_, err := h.NodeUnpublishVolume(t.Context(), unpublishOf(volume, target))
		return err
	})
	for i, target := range targets {
		h.leaves(fmt.Sprint("v", i), target)
	}
	if left, err := os.ReadDir(h.Pods); err != nil || len(left) > 0 {
		t.Errorf("%d directories are left, %v", len(left), err)
	}
}
