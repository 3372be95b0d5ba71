//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// daemonTimeout bounds the look whether the daemon listens.
	daemonTimeout = time.Second
	// restricted are the flags of all mounts that the driver makes.
	restricted = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	// ephemeral is how kubelet marks an inline volume, if the CSIDriver object has podInfoOnMount.
	ephemeral = "csi.storage.k8s.io/ephemeral"
	// mostMounts bounds how many mounts are taken away at one path.
	mostMounts = 64
)

// node mounts the socket's directory into pods. Kubelet calls again after each error, and does not
// know which of its calls came through, so each step looks first whether it is done.
type node struct {
	csi.UnimplementedNodeServer
	config
	mounting sync.Mutex // one request mounts at a time
}

// NodeGetInfo implements csi.NodeServer, as do the others.
func (n *node) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: n.node}, nil
}

func (n *node) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

// NodePublishVolume mounts the socket's directory at kubelet's path. While no daemon listens there
// it is Unavailable, and kubelet tries again.
func (n *node) NodePublishVolume(ctx context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	target := r.GetTargetPath()
	err := checkPublish(r)
	if err == nil {
		err = n.daemonListens(ctx)
	}
	if err == nil {
		err = n.publish(target)
	}
	return &csi.NodePublishVolumeResponse{}, report("mounted the daemon's socket for a pod", target, err)
}

// NodeUnpublishVolume undoes it. It does not need the daemon.
func (n *node) NodeUnpublishVolume(_ context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	target := r.GetTargetPath()
	err := check(r.GetVolumeId(), target)
	if err == nil {
		err = n.unpublish(target)
	}
	return &csi.NodeUnpublishVolumeResponse{}, report("unmounted the daemon's socket for a pod", target, err)
}

// report logs what was done, or why it was not, and gives an error a code if it has none.
func report(done, target string, err error) error {
	if err == nil {
		slog.Info(done, "target", target)
		return nil
	}
	if _, coded := status.FromError(err); !coded {
		err = status.Error(codes.Internal, err.Error())
	}
	slog.Warn("a request of kubelet failed", "target", target, "error", err)
	return err
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// check reads what both requests have.
func check(id, target string) error {
	switch {
	case id == "":
		return invalid("the request has no volume ID")
	case !isPath(target) || len(target) >= unix.PathMax:
		return invalid("the target path %.200q is not absolute, not in its shortest form, or longer than %d bytes", target, unix.PathMax-1)
	}
	return nil
}

// checkPublish reads a request to mount. Its errors are for the author of the pod to read.
func checkPublish(r *csi.NodePublishVolumeRequest) error {
	if err := check(r.GetVolumeId(), r.GetTargetPath()); err != nil {
		return err
	}
	c := r.GetVolumeCapability()
	switch {
	case c == nil:
		return invalid("the request has no volume capability")
	case c.GetMount() == nil:
		return invalid("a volume of %s is a directory: it cannot be a block device", driverName)
	case c.GetMount().GetFsType() != "" || len(c.GetMount().GetMountFlags()) > 0:
		return invalid("a volume of %s has neither fsType nor mount options: remove them", driverName)
	}
	for name := range r.GetVolumeContext() {
		if !strings.HasPrefix(name, "csi.storage.k8s.io/") {
			return invalid("a volume of %s has no attributes: remove volumeAttributes (%.100q)", driverName, name)
		}
	}
	if r.GetVolumeContext()[ephemeral] != "true" {
		return invalid("%s has inline volumes only: name the driver in the pod's volumes, as csi.driver, without a claim; "+
			"the CSIDriver object needs volumeLifecycleModes: [Ephemeral] and podInfoOnMount: true", driverName)
	}
	return nil
}

// daemonListens returns an error unless a connection to the daemon's socket is accepted.
func (n *node) daemonListens(ctx context.Context) error {
	dialer := net.Dialer{Timeout: daemonTimeout}
	c, err := dialer.DialContext(ctx, "unix", n.socket)
	if err != nil {
		return status.Errorf(codes.Unavailable, "no daemon listens on %s: %v: see whether `flakeward daemon` runs on this node; kubelet tries again", n.socket, err)
	}
	return c.Close()
}

// publish mounts the socket's directory at target, unless it is mounted there.
func (n *node) publish(target string) error {
	n.mounting.Lock()
	defer n.mounting.Unlock()
	dir := filepath.Dir(n.socket)
	if err := os.Mkdir(target, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
		return status.Errorf(codes.FailedPrecondition, "cannot make the target directory: %v", err)
	}
	if shows(dir, target) {
		return nil
	}
	// A mount of a directory that is gone, or one that was not made read-only any more.
	if err := unmount(target); err != nil {
		return err
	}
	if info, err := os.Lstat(target); err != nil || !info.IsDir() {
		return status.Errorf(codes.FailedPrecondition, "the target path %s is no directory (%v): remove it", target, err)
	}
	if err := unix.Mount(dir, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("cannot mount %s at %s: %w", dir, target, err)
	}
	// The kernel takes the options of a bind mount only in a second step.
	if err := unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|restricted, ""); err != nil {
		return errors.Join(fmt.Errorf("cannot make the mount at %s read-only: %w", target, err), unmount(target))
	}
	return nil
}

// shows reports whether target is a mount of dir, with the flags of the driver's mounts.
func shows(dir, target string) bool {
	want, err := os.Stat(dir)
	if err != nil {
		return false
	}
	got, err := os.Lstat(target)
	if err != nil || !os.SameFile(want, got) {
		return false
	}
	var s unix.Statfs_t
	const flags = unix.ST_RDONLY | unix.ST_NOSUID | unix.ST_NODEV | unix.ST_NOEXEC
	return unix.Statfs(target, &s) == nil && s.Flags&flags == flags
}

// unmount takes away all mounts at target. Whoever uses them does not keep them from going.
func unmount(target string) error {
	for range mostMounts {
		mounted, err := mountinfo.Mounted(target)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !mounted {
			return nil
		}
		if err == nil {
			err = unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		}
		if err != nil {
			return fmt.Errorf("cannot unmount %s: %w", target, err)
		}
	}
	return fmt.Errorf("there are more than %d mounts at %s: unmount them", mostMounts, target)
}

// unpublish takes away what is mounted at target, and target: an empty directory, and nothing else.
func (n *node) unpublish(target string) error {
	n.mounting.Lock()
	defer n.mounting.Unlock()
	if err := unmount(target); err != nil {
		return err
	}
	err := unix.Rmdir(target)
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENOTEMPTY):
		return status.Errorf(codes.FailedPrecondition, "the target path %s has something in it, or is no directory (%v): remove that", target, err)
	}
	return fmt.Errorf("cannot remove %s: %w", target, err)
}
