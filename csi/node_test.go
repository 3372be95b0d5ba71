//go:build linux

package csi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/flakeward/flakeward/csi/bind"
	"github.com/flakeward/flakeward/csi/csitest"
	"github.com/flakeward/flakeward/csi/podsocket"
)

func TestMain(m *testing.M) { csitest.Main(m) }

// long is how long a test waits for what has to come.
const long = time.Minute

// host is a node with a driver, whose methods the tests call.
type host struct {
	*testing.T
	csitest.Node
	*node
}

func newHost(t *testing.T) host {
	n := csitest.NewNode(t)
	return host{t, n, newNode(t, n.Pods)}
}

// newNode is what a driver that has just started knows.
func newNode(t *testing.T, pods string) *node {
	dir, err := podsocket.Open(pods)
	if err != nil {
		t.Fatal(err)
	}
	return &node{name: "node-1", dir: dir, log: hclog.NewNullLogger(), ending: t.Context(), timeout: long}
}

// target is kubelet's path for the volume of a pod, whose directory above exists.
func (h host) target(pod string) string {
	dir := filepath.Join(h.Kubelet, pod)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		h.Fatal(err)
	}
	return filepath.Join(dir, "mount")
}

func publishOf(volume, target string) *csi.NodePublishVolumeRequest {
	return &csi.NodePublishVolumeRequest{
		VolumeId: volume, TargetPath: target, Readonly: true,
		VolumeCapability: &csi.VolumeCapability{
			AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		},
		VolumeContext: map[string]string{
			ephemeral: "true", podName: "shop-7f9c", namespace: "orders", kubelet + "pod.uid": "1-2", kubelet + "serviceAccount.name": "default",
		},
	}
}

func unpublishOf(volume, target string) *csi.NodeUnpublishVolumeRequest {
	return &csi.NodeUnpublishVolumeRequest{VolumeId: volume, TargetPath: target}
}

func (h host) publishes(volume, target string, want codes.Code) {
	h.Helper()
	if _, err := h.NodePublishVolume(h.Context(), publishOf(volume, target)); status.Code(err) != want {
		h.Fatalf("publish at %q: %v; want %v", target, err, want)
	}
}

func (h host) unpublishes(volume, target string, want codes.Code) {
	h.Helper()
	if _, err := h.NodeUnpublishVolume(h.Context(), unpublishOf(volume, target)); status.Code(err) != want {
		h.Fatalf("unpublish at %q: %v; want %v", target, err, want)
	}
}

// serves fails if the socket at the target is not the one that the daemon listens on, read-only in
// one mount.
func (h host) serves(target string) {
	h.Helper()
	path, err := bind.Resolve(target)
	if err != nil {
		h.Fatal(err)
	}
	at := bind.At(h.table(), path)
	if len(at) != 1 || !at[0].Restricted {
		h.Fatalf("the mounts at %q are %+v", target, at)
	}
	if err := os.WriteFile(filepath.Join(target, "x"), nil, 0o600); !errors.Is(err, unix.EROFS) {
		h.Errorf("a pod that writes: %v", err)
	}
	dir, err := os.Open(target)
	if err != nil {
		h.Fatal(err)
	}
	defer dir.Close() // only read
	// By its descriptor, since kubelet's paths are longer than a socket's may be.
	var d net.Dialer
	c, err := d.DialContext(h.Context(), "unix", fmt.Sprintf("/proc/self/fd/%d/flakeward.sock", dir.Fd()))
	if err != nil {
		h.Fatal(err)
	}
	_ = c.Close()
}

func (h host) table() []bind.Mount {
	h.Helper()
	all, err := bind.All()
	if err != nil {
		h.Fatal(err)
	}
	return all
}

// leaves fails if something is left of a volume: its mount, its target, or its directory.
func (h host) leaves(volume, target string) {
	h.Helper()
	if shown(h.table(), podsocket.ID(volume)) {
		h.Error("a mount is left")
	}
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		h.Errorf("the target is left: %v", err)
	}
	left, err := os.ReadDir(h.Pods)
	if err != nil || len(left) > 0 {
		h.Errorf("left in the daemon's directory: %v, %v", left, err)
	}
}

func TestAPodGetsASocketOfItsOwnAndNothingIsLeft(t *testing.T) {
	h := newHost(t)
	csitest.StartDaemon(t, h.Pods)
	target := h.target("a")
	for range 3 {
		h.publishes("v", target, codes.OK)
		h.serves(target)
	}
	dir := filepath.Join(h.Pods, podsocket.ID("v"))
	if user, err := os.ReadFile(filepath.Join(dir, "user")); string(user) != "orders/shop-7f9c\n" {
		t.Errorf("user is %q, %v", user, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "socket")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("socket/ is %v, %v", info.Mode(), err)
	}
	h.publishes("w", h.target("b"), codes.OK)
	if h.unpublishes("w", h.target("b"), codes.OK); bind.Shown(dir, target) {
		t.Error("shown is the directory and not its socket/")
	}
	h.serves(target)
	for range 3 {
		h.unpublishes("v", target, codes.OK)
		h.leaves("v", target)
	}
}

// Another driver goes on with what one left, at whatever step that was.
func TestAnotherDriverGoesOn(t *testing.T) {
	h := newHost(t)
	csitest.StartDaemon(t, h.Pods)
	target, id := h.target("a"), podsocket.ID("v")
	for name, left := range map[string]func() error{
		"nothing":          func() error { return nil },
		"target":           func() error { return os.Mkdir(target, 0o750) },
		"half a directory": func() error { return os.MkdirAll(filepath.Join(h.Pods, id, "socket"), 0o700) },
		"directory":        func() error { return h.dir.Make(id, podsocket.Entry{User: "orders/shop-7f9c", Target: target}) },
		"of another time":  func() error { return h.dir.Make(id, podsocket.Entry{User: "orders/shop-7f9c", Target: "/elsewhere"}) },
		"writable mount": func() error {
			h.publishes("v", target, codes.OK)
			return errors.Join(bind.Hide(target), unix.Mount(h.dir.Socket(id), target, "", unix.MS_BIND, ""))
		},
		"two mounts": func() error {
			h.publishes("v", target, codes.OK)
			return errors.Join(bind.Hide(target), bind.Show(h.dir.Socket(id), target),
				unix.Mount(h.dir.Socket(id), target, "", unix.MS_BIND, ""))
		},
		"whole":       func() error { h.publishes("v", target, codes.OK); return nil },
		"stale mount": func() error { h.publishes("v", target, codes.OK); return h.dir.Remove(id) },
		"wiped":       func() error { h.publishes("v", target, codes.OK); return os.RemoveAll(h.Pods) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, published := range []bool{true, false} {
				if err := left(); err != nil {
					t.Fatal(err)
				}
				h := host{t, h.Node, newNode(t, h.Pods)}
				if published {
					h.publishes("v", target, codes.OK)
					h.serves(target)
				}
				h.unpublishes("v", target, codes.OK)
				if name == "of another time" && !published { // no more than the target is this request's
					h.unpublishes("v", "/elsewhere", codes.OK)
				}
				h.leaves("v", target)
			}
		})
	}
}

func TestTargetsThatAreOdd(t *testing.T) {
	h := newHost(t)
	csitest.StartDaemon(t, h.Pods)
	t.Run("hostile names", func(t *testing.T) {
		h := host{t, h.Node, h.node}
		for _, pod := range []string{"a b", "a\nb", `a\040b`, "a\tb#c", "-rf", "…", "a//deleted", strings.Repeat("x", 200) + "/" + strings.Repeat("y", 200)} {
			target := filepath.Clean(h.target(pod))
			h.publishes("v", target, codes.OK)
			h.serves(target)
			h.unpublishes("v", target, codes.OK)
			h.leaves("v", target)
		}
	})
	t.Run("kubelet's directory behind a link", func(t *testing.T) {
		h := host{t, h.Node, h.node}
		link := filepath.Join(h.Kubelet, "link")
		if err := os.Symlink(filepath.Dir(h.target("a")), link); err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(link, "mount")
		h.publishes("v", target, codes.OK)
		h.publishes("v", target, codes.OK)
		h.serves(target)
		h.unpublishes("v", target, codes.OK)
		h.leaves("v", target)
	})
	file, symlink, foreign := h.target("file"), h.target("link"), h.target("foreign")
	if err := errors.Join(os.WriteFile(file, []byte("x"), 0o600), os.Symlink("/tmp", symlink), os.Mkdir(foreign, 0o700),
		unix.Mount("foreign", foreign, "tmpfs", 0, "")); err != nil {
		t.Fatal(err)
	}
	full := h.target("full")
	if err := errors.Join(os.Mkdir(full, 0o700), os.WriteFile(filepath.Join(full, "f"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"file": file, "symbolic link": symlink, "foreign mount": foreign} {
		t.Run(name, func(t *testing.T) {
			h := host{t, h.Node, h.node}
			h.publishes("v", target, codes.FailedPrecondition)
			h.unpublishes("v", target, codes.FailedPrecondition)
			if _, err := os.Lstat(target); err != nil {
				t.Errorf("what was there is gone: %v", err)
			}
		})
	}
	if _, err := os.ReadFile(file); err != nil || len(bind.At(h.table(), foreign)) != 1 {
		t.Errorf("what was there is not left alone: %v", err)
	}
	t.Run("full directory", func(t *testing.T) {
		h := host{t, h.Node, h.node}
		h.publishes("v", full, codes.OK)
		h.serves(full)
		h.unpublishes("v", full, codes.FailedPrecondition)
		if err := os.Remove(filepath.Join(full, "f")); err != nil {
			t.Errorf("what was there is not left alone: %v", err)
		}
		h.unpublishes("v", full, codes.OK)
		h.leaves("v", full)
	})
	t.Run("nothing above", func(t *testing.T) {
		h := host{t, h.Node, h.node}
		target := filepath.Join(h.Kubelet, "none", "mount")
		h.publishes("v", target, codes.FailedPrecondition)
		h.unpublishes("v", target, codes.OK)
		h.leaves("v", target)
	})
}

// A volume is one pod's, at one path.
func TestAVolumeIsShownOnce(t *testing.T) {
	h := newHost(t)
	csitest.StartDaemon(t, h.Pods)
	target := h.target("a")
	h.publishes("v", target, codes.OK)
	h.publishes("v", h.target("b"), codes.FailedPrecondition)
	other := publishOf("v", target)
	other.VolumeContext[podName] = "other"
	if _, err := h.NodePublishVolume(t.Context(), other); status.Code(err) != codes.AlreadyExists {
		t.Errorf("the volume of another pod: %v", err)
	}
	h.unpublishes("v", h.target("b"), codes.OK)
	h.serves(target)
	h.unpublishes("v", target, codes.OK)
	h.leaves("v", target)
}

// Without the daemon nothing is mounted, kubelet is told to try again, and pods can go.
func TestTheDaemonIsAway(t *testing.T) {
	h := newHost(t)
	h.timeout = 10 * time.Millisecond
	target := h.target("a")
	h.publishes("v", target, codes.Unavailable)
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the target was made: %v", err)
	}
	h.unpublishes("v", target, codes.OK)
	h.leaves("v", target)

	h.publishes("v", target, codes.Unavailable)
	daemon := csitest.StartDaemon(t, h.Pods)
	h.timeout = long
	h.publishes("v", target, codes.OK)
	h.serves(target)
	daemon.Stop()
	h.publishes("v", target, codes.OK) // a pod that runs
	h.timeout = 10 * time.Millisecond
	h.publishes("w", h.target("b"), codes.Unavailable)
	h.unpublishes("w", h.target("b"), codes.OK)
	h.unpublishes("v", target, codes.OK)
	h.leaves("v", target)
}

// A driver that ends lets nobody wait.
func TestAnEndingDriverWaitsForNoDaemon(t *testing.T) {
	h := newHost(t)
	h.timeout = 1000 * time.Hour
	ending, end := context.WithCancel(t.Context())
	h.ending = ending
	end()
	h.publishes("v", h.target("a"), codes.Unavailable)
}

// What the driver alone would see is of no use to a pod.
func TestAMountThatNobodyElseWouldSeeIsRefused(t *testing.T) {
	h := newHost(t)
	csitest.StartDaemon(t, h.Pods)
	if err := unix.Mount("", h.Kubelet, "", unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	target := h.target("a")
	h.publishes("v", target, codes.FailedPrecondition)
	h.leaves("v", target)
}

// Requests for one volume at the same time come one after the other, or are told to come again.
func TestRequestsAtTheSameTime(t *testing.T) {
	h := newHost(t)
	csitest.StartDaemon(t, h.Pods)
	target := h.target("a")
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			for range 20 {
				_, err := h.NodePublishVolume(h.Context(), publishOf("v", target))
				if i%2 == 1 {
					_, err = h.NodeUnpublishVolume(h.Context(), unpublishOf("v", target))
				}
				if code := status.Code(err); code != codes.OK && code != codes.Aborted {
					t.Errorf("%v", err)
				}
			}
		})
	}
	done.Wait()
	h.publishes("v", target, codes.OK)
	h.serves(target)
	h.unpublishes("v", target, codes.OK)
	h.leaves("v", target)
}

// Two drivers at the same time, as in an update, mount twice at most. All goes with one request.
func TestTwoDriversAtTheSameTime(t *testing.T) {
	h := newHost(t)
	csitest.StartDaemon(t, h.Pods)
	target := h.target("a")
	for range 20 {
		var both sync.WaitGroup
		for range 2 {
			n := newNode(t, h.Pods)
			both.Go(func() {
				if _, err := n.NodePublishVolume(t.Context(), publishOf("v", target)); err != nil {
					t.Logf("is tried again: %v", err)
				}
			})
		}
		both.Wait()
		h.publishes("v", target, codes.OK)
		h.unpublishes("v", target, codes.OK)
		h.leaves("v", target)
	}
}

// Orphans go when a driver starts. What is young, shown, wanted by kubelet or not the driver's own
// stays.
func TestOrphansAreRemoved(t *testing.T) {
	h := newHost(t)
	daemon := csitest.StartDaemon(t, h.Pods)
	var log strings.Builder
	h.log = hclog.New(&hclog.LoggerOptions{Output: io.Writer(&log)})
	h.publishes("shown", h.target("shown"), codes.OK)
	// The mount alone keeps it.
	if err := os.WriteFile(filepath.Join(h.Pods, podsocket.ID("shown"), "target"), []byte("/nowhere"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"orphan", "young", "wanted"} {
		h.publishes(name, h.target(name), codes.OK)
		if err := bind.Hide(h.target(name)); err != nil {
			t.Fatal(err)
		}
		if name != "wanted" {
			if err := os.Remove(h.target(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	daemon.Stop()
	for _, name := range []string{"by-hand", podsocket.ID("half"), ".pod-half", "lost+found"} {
		if err := os.Mkdir(filepath.Join(h.Pods, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	all, err := os.ReadDir(h.Pods)
	if err != nil {
		t.Fatal(err)
	}
	hours := time.Now().Add(-time.Hour)
	for _, entry := range all {
		if entry.Name() != podsocket.ID("young") {
			if err := os.Chtimes(filepath.Join(h.Pods, entry.Name()), hours, hours); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.sweep(time.Now().Add(-orphanAge))
	for name, stays := range map[string]bool{
		podsocket.ID("orphan"): false, podsocket.ID("half"): false, ".pod-half": false,
		podsocket.ID("shown"): true, podsocket.ID("young"): true, podsocket.ID("wanted"): true, "by-hand": true, "lost+found": true,
	} {
		if _, err := os.Stat(filepath.Join(h.Pods, name)); (err == nil) != stays {
			t.Errorf("%s: %v; stays: %v", name, err, stays)
		}
	}
	if !strings.Contains(log.String(), podsocket.ID("orphan")) {
		t.Errorf("the log does not say what was removed: %s", log.String())
	}
}
