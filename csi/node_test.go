//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// TestMain runs the tests in a mount namespace, which ends with them: nobody else sees what they
// mount. Who is not root gets a user namespace, too, and is root there.
func TestMain(m *testing.M) {
	const inside = "FLAKEWARD_TEST_MOUNTS"
	if os.Getenv(inside) != "" {
		os.Exit(m.Run())
	}
	child := exec.CommandContext(context.Background(), "/proc/self/exe", os.Args[1:]...)
	child.Args[0], child.Env = os.Args[0], append(os.Environ(), inside+"=1")
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid := os.Getuid(); uid != 0 {
		child.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		child.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	if err := child.Run(); child.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "a mount namespace cannot be had:", err)
		os.Exit(1)
	}
	os.Exit(child.ProcessState.ExitCode())
}

// host is a host as the driver sees it.
type host struct {
	*testing.T
	root string
	config
}

// newHost makes a file system in memory, with a short path. It goes with the test.
func newHost(t *testing.T) host {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "csi")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(root) })
	if err := unix.Mount("csi", root, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
	for _, dir := range []string{"run", "pods"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return host{t, root, config{registration: filepath.Join(root, "reg.sock"), socket: filepath.Join(root, "run", "flakeward.sock"), node: "node-1"}}
}

// startDaemon has a stand-in for the daemon listen, until the test ends or by stop.
func (h host) startDaemon() (stop func()) {
	h.Helper()
	l, err := net.Listen("unix", h.socket)
	if err != nil {
		h.Fatal(err)
	}
	stop = sync.OnceFunc(func() { _ = l.Close() })
	h.Cleanup(stop)
	return stop
}

// run starts a driver, which ends with the test or by end.
func (h host) run() (conn *grpc.ClientConn, end func() error) {
	h.Helper()
	ctx, cancel := context.WithCancel(h.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, h.config) }()
	end = sync.OnceValue(func() error { cancel(); return <-ended })
	h.Cleanup(func() { _ = end() })
	conn, err := grpc.NewClient("unix://"+h.registration, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = conn.Close() })
	return conn, end
}

func (h host) target(name string) string { return filepath.Join(h.root, "pods", name) }

func publishOf(target string) *csi.NodePublishVolumeRequest {
	return &csi.NodePublishVolumeRequest{VolumeId: "csi-1", TargetPath: target, Readonly: true,
		VolumeContext:    map[string]string{ephemeral: "true", "csi.storage.k8s.io/pod.name": "shop"},
		VolumeCapability: &csi.VolumeCapability{AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}}}}
}

func unpublishOf(target string) *csi.NodeUnpublishVolumeRequest {
	return &csi.NodeUnpublishVolumeRequest{VolumeId: "csi-1", TargetPath: target}
}

// serves wants a daemon to be reached by the target, nothing to be changed there, and one mount.
func (h host) serves(target string) {
	h.Helper()
	c, err := net.Dial("unix", filepath.Join(target, "flakeward.sock"))
	if err != nil {
		h.Fatal(err)
	}
	_ = c.Close()
	if err := os.WriteFile(filepath.Join(target, "x"), nil, 0o600); !errors.Is(err, unix.EROFS) {
		h.Errorf("a pod can write beside the socket: %v", err)
	}
	if err := os.Remove(filepath.Join(target, "flakeward.sock")); !errors.Is(err, unix.EROFS) {
		h.Errorf("a pod can remove the socket: %v", err)
	}
	h.mounts(target, 1)
}

func (h host) mounts(target string, want int) {
	h.Helper()
	at, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(target))
	if err != nil {
		h.Fatal(err)
	}
	all, err := mountinfo.GetMounts(mountinfo.PrefixFilter(target))
	if err != nil || len(all) != want || len(at) != min(want, 1) {
		h.Errorf("%d mounts at %s, %v; want %d", len(all), target, err, want)
	}
}

// A driver mounts and unmounts, each as often as kubelet asks, over a restart of itself and of the
// daemon, and leaves nothing.
func TestAPodHasTheSocketsDirectory(t *testing.T) {
	h := newHost(t)
	stop := h.startDaemon()
	conn, end := h.run()
	target := h.target("a")
	node := csi.NewNodeClient(conn)
	for range 2 {
		if _, err := node.NodePublishVolume(t.Context(), publishOf(target)); err != nil {
			t.Fatal(err)
		}
		h.serves(target)
	}
	stop()
	h.startDaemon() // another socket
	h.serves(target)
	if err := end(); err != nil {
		t.Errorf("the driver ended with %v", err)
	}
	if _, err := os.Lstat(h.registration); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its socket is left: %v", err)
	}
	h.serves(target)
	conn, _ = h.run()
	for range 2 {
		if _, err := csi.NewNodeClient(conn).NodeUnpublishVolume(t.Context(), unpublishOf(target)); err != nil {
			t.Fatal(err)
		}
		h.mounts(target, 0)
		if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", target, err)
		}
	}
}

// Without a daemon a pod waits, and pods can go.
func TestAPodWaitsForTheDaemon(t *testing.T) {
	h := newHost(t)
	n, target := &node{config: h.config}, h.target("a")
	if _, err := n.NodePublishVolume(t.Context(), publishOf(target)); status.Code(err) != codes.Unavailable {
		t.Errorf("without a daemon: %v", err)
	}
	h.mounts(target, 0)
	stop := h.startDaemon()
	if _, err := n.NodePublishVolume(t.Context(), publishOf(target)); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := n.NodeUnpublishVolume(t.Context(), unpublishOf(target)); err != nil {
		t.Error(err)
	}
	h.mounts(target, 0)
}

// What a driver left that was killed between two steps, or what came to its place since, does not
// keep the next request from making it right.
func TestAPodGetsTheMountWhateverIsThere(t *testing.T) {
	for name, before := range map[string]func(h host, target string) error{
		"an empty directory": func(_ host, target string) error { return os.Mkdir(target, 0o750) },
		"a mount that can be written": func(h host, target string) error {
			return errors.Join(os.Mkdir(target, 0o750), unix.Mount(filepath.Dir(h.socket), target, "", unix.MS_BIND, ""))
		},
		"two mounts": func(h host, target string) error {
			dir := filepath.Dir(h.socket)
			return errors.Join(os.Mkdir(target, 0o750), unix.Mount(dir, target, "", unix.MS_BIND, ""), unix.Mount(dir, target, "", unix.MS_BIND, ""))
		},
		"a mount of a directory that is gone": func(h host, target string) error {
			gone := filepath.Join(h.root, "gone")
			return errors.Join(os.Mkdir(gone, 0o755), os.Mkdir(target, 0o750), unix.Mount(gone, target, "", unix.MS_BIND, ""), os.Remove(gone))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.startDaemon()
			n, target := &node{config: h.config}, h.target("a")
			if err := before(h, target); err != nil {
				t.Fatal(err)
			}
			if _, err := n.NodePublishVolume(t.Context(), publishOf(target)); err != nil {
				t.Fatal(err)
			}
			h.serves(target)
			if _, err := n.NodeUnpublishVolume(t.Context(), unpublishOf(target)); err != nil {
				t.Fatal(err)
			}
			h.mounts(target, 0)
		})
	}
}

// What is no directory, or has something in it, is nothing of the driver's: it stays.
func TestTheDriverLeavesOthersFilesAlone(t *testing.T) {
	for name, make := range map[string]func(target string) error{
		"a file": func(target string) error { return os.WriteFile(target, []byte("x"), 0o600) },
		"a link": func(target string) error { return os.Symlink("/tmp", target) },
	} {
		h := newHost(t)
		h.startDaemon()
		n, target := &node{config: h.config}, h.target("a")
		if err := make(target); err != nil {
			t.Fatal(err)
		}
		if _, err := n.NodePublishVolume(t.Context(), publishOf(target)); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("%s: published: %v", name, err)
		}
		if _, err := n.NodeUnpublishVolume(t.Context(), unpublishOf(target)); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("%s: unpublished: %v", name, err)
		}
		if _, err := os.Lstat(target); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	h := newHost(t)
	target := h.target("a")
	if err := errors.Join(os.Mkdir(target, 0o755), os.WriteFile(filepath.Join(target, "x"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := (&node{config: h.config}).NodeUnpublishVolume(t.Context(), unpublishOf(target)); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a directory with a file: unpublished: %v", err)
	}
	missing := filepath.Join(h.target("none"), "a")
	if _, err := (&node{config: h.config}).NodeUnpublishVolume(t.Context(), unpublishOf(missing)); err != nil {
		t.Errorf("a directory that is gone: %v", err)
	}
}

func TestWhatIsNoVolumeOfTheDriver(t *testing.T) {
	h := newHost(t)
	h.startDaemon()
	n := &node{config: h.config}
	for name, change := range map[string]func(*csi.NodePublishVolumeRequest){
		"no ID":         func(r *csi.NodePublishVolumeRequest) { r.VolumeId = "" },
		"no target":     func(r *csi.NodePublishVolumeRequest) { r.TargetPath = "" },
		"relative":      func(r *csi.NodePublishVolumeRequest) { r.TargetPath = "a" },
		"not shortest":  func(r *csi.NodePublishVolumeRequest) { r.TargetPath = h.root + "/pods/../run" },
		"root":          func(r *csi.NodePublishVolumeRequest) { r.TargetPath = "/" },
		"NUL":           func(r *csi.NodePublishVolumeRequest) { r.TargetPath += "\x00" },
		"long":          func(r *csi.NodePublishVolumeRequest) { r.TargetPath += strings.Repeat("/a", 2048) },
		"no capability": func(r *csi.NodePublishVolumeRequest) { r.VolumeCapability = nil },
		"block device": func(r *csi.NodePublishVolumeRequest) {
			r.VolumeCapability.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
		},
		"fsType":        func(r *csi.NodePublishVolumeRequest) { r.GetVolumeCapability().GetMount().FsType = "ext4" },
		"mount options": func(r *csi.NodePublishVolumeRequest) { r.GetVolumeCapability().GetMount().MountFlags = []string{"rw"} },
		"attributes":    func(r *csi.NodePublishVolumeRequest) { r.VolumeContext["tenant"] = "a" },
		"persistent":    func(r *csi.NodePublishVolumeRequest) { delete(r.VolumeContext, ephemeral) },
	} {
		r := publishOf(h.target("a"))
		change(r)
		if _, err := n.NodePublishVolume(t.Context(), r); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(h.root, "pods")); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Many requests at once come to one mount for each target, and to none.
func TestManyRequestsAtOnce(t *testing.T) {
	h := newHost(t)
	h.startDaemon()
	n := &node{config: h.config}
	each := func(do func(target string) error) {
		var all sync.WaitGroup
		for i := range 32 {
			all.Go(func() {
				if err := do(h.target(fmt.Sprint("pod-", i/2))); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	each(func(target string) error { _, err := n.NodePublishVolume(t.Context(), publishOf(target)); return err })
	for i := range 16 {
		h.serves(h.target(fmt.Sprint("pod-", i)))
	}
	each(func(target string) error {
		_, err := n.NodeUnpublishVolume(t.Context(), unpublishOf(target))
		return err
	})
	h.mounts(filepath.Join(h.root, "pods"), 0)
}

// Kubelet finds the driver by its socket and calls it there. One that it refuses ends with what
// kubelet says.
func TestKubeletFindsTheDriver(t *testing.T) {
	h := newHost(t)
	// As a driver leaves it that was killed.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: h.registration, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	left, err := os.Lstat(h.registration)
	if err != nil {
		t.Fatal(err)
	}
	_, end := h.run()
	for {
		if now, err := os.Lstat(h.registration); err == nil && !os.SameFile(left, now) {
			break
		}
		runtime.Gosched() // until the driver has replaced it
	}
	conn, err := grpc.NewClient("unix://"+h.registration, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	kubelet := registration.NewRegistrationClient(conn)
	info, err := kubelet.GetInfo(t.Context(), &registration.InfoRequest{})
	if err != nil || info.GetType() != "CSIPlugin" || info.GetName() != driverName || info.GetEndpoint() != "" || len(info.GetSupportedVersions()) == 0 {
		t.Errorf("kubelet is told %v, %v", info, err)
	}
	if info, err := os.Lstat(h.registration); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its socket is %v, %v", info, err)
	}
	if _, err := kubelet.NotifyRegistrationStatus(t.Context(), &registration.RegistrationStatus{PluginRegistered: true}); err != nil {
		t.Error(err)
	}
	if info, err := csi.NewNodeClient(conn).NodeGetInfo(t.Context(), &csi.NodeGetInfoRequest{}); err != nil || info.GetNodeId() != "node-1" {
		t.Errorf("the node is %v, %v", info, err)
	}
	_, err = kubelet.NotifyRegistrationStatus(t.Context(), &registration.RegistrationStatus{Error: "an odd version"})
	if err != nil && status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
	if err := end(); err == nil || !strings.Contains(err.Error(), "an odd version") {
		t.Errorf("it ended with %v", err)
	}
}

func TestWhatTheDriverDoesNotStartWith(t *testing.T) {
	h := newHost(t)
	for says, change := range map[string]func(*config){
		"--registration": func(c *config) { c.registration = "reg.sock" },
		"--socket":       func(c *config) { c.socket = "/flakeward.sock" },
		"--node":         func(c *config) { c.node = "" },
		"257 bytes":      func(c *config) { c.node = strings.Repeat("a", 257) },
	} {
		c := h.config
		change(&c)
		if err := c.validate(nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want %q", err, says)
		}
	}
	if err := h.validate([]string{"x"}); err == nil {
		t.Error("an argument is taken")
	}
	if err := h.validate(nil); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(h.registration, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), h.config); err == nil || !strings.Contains(err.Error(), h.registration) {
		t.Errorf("at a file's place: %v", err)
	}
	if b, err := os.ReadFile(h.registration); string(b) != "x" || err != nil {
		t.Errorf("the file is %q, %v", b, err)
	}
}
