//go:build linux

package csi

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/flakeward/flakeward/csi/bind"
	"github.com/flakeward/flakeward/csi/podsocket"
)

// node shows pods their sockets. Kubelet calls again after each error, and does not know which of
// its calls came through, so each step looks first whether it is done.
type node struct {
	csi.UnimplementedNodeServer
	name    string
	dir     podsocket.Dir
	log     hclog.Logger
	ending  context.Context // ends when the driver does
	timeout time.Duration   // how long a publish waits for the daemon

	busy sync.Map // the IDs of volumes that a request works on
}

// NodeGetInfo implements csi.NodeServer, as do the others.
func (n *node) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: n.name}, nil
}

func (n *node) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

// NodePublishVolume shows a pod its socket. If the daemon is away it is Unavailable.
func (n *node) NodePublishVolume(ctx context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	v, err := parsePublish(r)
	if err == nil {
		err = n.alone(v, func() error { return n.publish(ctx, v) })
	}
	return &csi.NodePublishVolumeResponse{}, n.report("a pod's socket is not shown", v, err)
}

// NodeUnpublishVolume takes a pod's socket away. It does not need the daemon.
func (n *node) NodeUnpublishVolume(_ context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	v, err := parseVolume(r.GetVolumeId(), r.GetTargetPath())
	if err == nil {
		err = n.alone(v, func() error { return n.unpublish(v) })
	}
	return &csi.NodeUnpublishVolumeResponse{}, n.report("a pod's socket is not taken away", v, err)
}

// alone runs one request of a volume at a time. It does not wait: kubelet tries again.
func (n *node) alone(v volume, do func() error) error {
	if _, busy := n.busy.LoadOrStore(v.id, true); busy {
		return status.Errorf(codes.Aborted, "another request for the same volume is in progress")
	}
	defer n.busy.Delete(v.id)
	return do()
}

// report logs an error, and gives it a code if it has none.
func (n *node) report(what string, v volume, err error) error {
	if err == nil {
		return nil
	}
	if _, coded := status.FromError(err); !coded {
		err = status.Error(codes.Internal, err.Error())
	}
	n.log.Warn(what, "pod", v.User, "target", v.Target, "directory", v.id, "error", err)
	return err
}

func (n *node) publish(ctx context.Context, v volume) (err error) {
	all, err := bind.All()
	if err != nil {
		return err
	}
	path, err := bind.Resolve(v.Target)
	if err != nil {
		return status.Errorf(codes.FailedPrecondition, "the directory above the target path cannot be had: %v", err)
	}
	if err := n.owned(all, path, v); err != nil {
		return err
	}
	made, err := n.prepare(all, v)
	if err != nil {
		return err
	}
	at := bind.At(all, path)
	if len(at) > 0 && at[len(at)-1].Restricted && bind.Shown(n.dir.Socket(v.id), path) {
		return nil
	}
	defer func() {
		// Kubelet asks again after Unavailable, or has it unpublished. Of the rest it may not speak
		// again.
		if made && err != nil && status.Code(err) != codes.Unavailable {
			err = errors.Join(err, n.dir.Remove(v.id))
		}
	}()
	if !bind.Passes(all, path) {
		return status.Errorf(codes.FailedPrecondition, "a mount at %s would be seen by the driver alone: "+
			"its container needs kubelet's directory with mountPropagation: Bidirectional, below a shared mount of the host", path)
	}
	if err := n.await(ctx, v); err != nil {
		return err
	}
	return n.show(v, path)
}

// owned returns an error if something else than v is mounted, or is, at the path.
func (n *node) owned(all []bind.Mount, path string, v volume) error {
	at := bind.At(all, path)
	for _, m := range at {
		if !shows(m, v.id) {
			return foreign(m)
		}
	}
	if len(at) > 0 {
		return nil
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return status.Errorf(codes.FailedPrecondition, "%s is no directory (%v): remove it", path, info.Mode().Type())
	}
	return nil
}

// foreign is the error for a mount that the driver did not make, and does not take away.
func foreign(m bind.Mount) error {
	return status.Errorf(codes.FailedPrecondition, "at %s something else is mounted (%s): unmount that first", m.Path, m.Root)
}

// shows reports whether a mount shows the directory of an ID, whether that still exists or not.
func shows(m bind.Mount, id string) bool { return strings.HasSuffix(m.Root, "/"+id+"/socket") }

// shown reports whether any mount does.
func shown(all []bind.Mount, id string) bool {
	for _, m := range all {
		if shows(m, id) {
			return true
		}
	}
	return false
}

// prepare has the volume's directory made, and reports whether it was missing.
func (n *node) prepare(all []bind.Mount, v volume) (made bool, err error) {
	there, err := n.dir.Read(v.id)
	switch {
	case err == nil && there == v.Entry:
		return false, nil
	case err == nil && shown(all, v.id):
		if there.User != v.User {
			return false, status.Errorf(codes.AlreadyExists, "the volume is of another pod, %.320q", there.User)
		}
		return false, status.Errorf(codes.FailedPrecondition, "the volume is shown at another path, %s", there.Target)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	// What is there is half of something, or of a pod that is gone: no mount shows it.
	if err := n.dir.Remove(v.id); err != nil {
		return false, err
	}
	return true, n.dir.Make(v.id, v.Entry)
}

// await waits for the daemon to listen, for a few seconds.
func (n *node) await(ctx context.Context, v volume) error {
	ctx, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	defer context.AfterFunc(n.ending, cancel)()
	if err := n.dir.Wait(ctx, v.id); err != nil {
		return status.Errorf(codes.Unavailable, "%v: does `flakeward daemon --pod-sockets %s` run on this node? It is tried again", err, n.dir)
	}
	return nil
}

// show mounts the volume at the path, in the place of mounts that show what it was before.
func (n *node) show(v volume, path string) error {
	if err := hideAll(path, v.id); err != nil {
		return err
	}
	err := os.Mkdir(path, 0o750)
	made := err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := bind.Show(n.dir.Socket(v.id), path); err != nil {
		if made {
			err = errors.Join(err, os.Remove(path))
		}
		return err
	}
	n.log.Info("a pod has its socket", "pod", v.User, "target", v.Target, "directory", v.id)
	return nil
}

// mostMounts bounds how many mounts are taken away at one path: twice at the same time is what two
// drivers may have come to.
const mostMounts = 64

// hideAll takes away all mounts at a path that show the directory of an ID.
func hideAll(path, id string) error {
	for range mostMounts {
		all, err := bind.All()
		if err != nil {
			return err
		}
		at := bind.At(all, path)
		if len(at) == 0 {
			return nil
		}
		if top := at[len(at)-1]; !shows(top, id) {
			return foreign(top)
		}
		if err := bind.Hide(path); err != nil {
			return err
		}
	}
	return status.Errorf(codes.Internal, "there are more than %d mounts at %s", mostMounts, path)
}

func (n *node) unpublish(v volume) error {
	path, err := bind.Resolve(v.Target)
	if err == nil {
		if err := hideAll(path, v.id); err != nil {
			return err
		}
		// An empty directory, and nothing else: what another put there stays.
		err = unix.Rmdir(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENOTEMPTY):
		return status.Errorf(codes.FailedPrecondition, "%s has something in it, or is no directory (%v): remove that", path, err)
	case err != nil:
		return err
	}
	there, err := n.dir.Read(v.id)
	if err == nil && there.Target != "" && there.Target != v.Target {
		return nil // the directory is for a volume that is shown elsewhere
	}
	if err := n.dir.Remove(v.id); err != nil {
		return err
	}
	n.log.Info("a pod's socket is taken away", "target", v.Target, "directory", v.id)
	return nil
}
