//go:build linux

package csi

import (
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestWhatARequestMayNotBeIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*csi.NodePublishVolumeRequest)
		says   string
	}{
		"no pod info": {func(r *csi.NodePublishVolumeRequest) {
			maps.DeleteFunc(r.VolumeContext, func(name, _ string) bool { return name != ephemeral })
		}, "podInfoOnMount: true"},
		"no context":         {func(r *csi.NodePublishVolumeRequest) { r.VolumeContext = nil }, "podInfoOnMount: true"},
		"no namespace":       {func(r *csi.NodePublishVolumeRequest) { delete(r.VolumeContext, namespace) }, "podInfoOnMount: true"},
		"persistent":         {func(r *csi.NodePublishVolumeRequest) { r.VolumeContext[ephemeral] = "false" }, "inline volumes only"},
		"attributes":         {func(r *csi.NodePublishVolumeRequest) { r.VolumeContext["tenant"] = "x" }, "volumeAttributes"},
		"hostile pod":        {func(r *csi.NodePublishVolumeRequest) { r.VolumeContext[podName] = "../../etc" }, "not allow"},
		"pod of two lines":   {func(r *csi.NodePublishVolumeRequest) { r.VolumeContext[podName] = "a\nb" }, "not allow"},
		"pod of dots":        {func(r *csi.NodePublishVolumeRequest) { r.VolumeContext[podName] = ".." }, "not allow"},
		"long pod":           {func(r *csi.NodePublishVolumeRequest) { r.VolumeContext[podName] = strings.Repeat("a", 254) }, "not allow"},
		"hostile namespace":  {func(r *csi.NodePublishVolumeRequest) { r.VolumeContext[namespace] = "a/b" }, "not allow"},
		"no volume":          {func(r *csi.NodePublishVolumeRequest) { r.VolumeId = "" }, "volume ID"},
		"no target":          {func(r *csi.NodePublishVolumeRequest) { r.TargetPath = "" }, "target path"},
		"relative target":    {func(r *csi.NodePublishVolumeRequest) { r.TargetPath = "a/b" }, "absolute"},
		"target that climbs": {func(r *csi.NodePublishVolumeRequest) { r.TargetPath = "/a/../b" }, "shortest form"},
		"target with a NUL":  {func(r *csi.NodePublishVolumeRequest) { r.TargetPath = "/a\x00b" }, "absolute"},
		"root":               {func(r *csi.NodePublishVolumeRequest) { r.TargetPath = "/" }, "root"},
		"no capability":      {func(r *csi.NodePublishVolumeRequest) { r.VolumeCapability = nil }, "capability"},
		"block device": {func(r *csi.NodePublishVolumeRequest) {
			r.VolumeCapability.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
		}, "block device"},
		"no access type": {func(r *csi.NodePublishVolumeRequest) { r.VolumeCapability.AccessType = nil }, "block device"},
		"file system":    {func(r *csi.NodePublishVolumeRequest) { r.VolumeCapability.GetMount().FsType = "ext4" }, "fsType"},
		"mount options": {func(r *csi.NodePublishVolumeRequest) {
			r.VolumeCapability.GetMount().MountFlags = []string{"rw"}
		}, "mount options"},
	} {
		r := publishOf("v", "/a/b")
		if _, err := parsePublish(r); err != nil {
			t.Fatal(err)
		}
		c.change(r)
		if _, err := parsePublish(r); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want InvalidArgument and %q", name, err, c.says)
		}
	}
}

var (
	directory = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
	asker     = regexp.MustCompile(`^[a-z0-9.-]+/[a-z0-9.-]+$`)
)

// FuzzPublish: whatever a request has in it, the directory's name and the line for the daemon keep
// to their forms.
func FuzzPublish(f *testing.F) {
	f.Add("csi-1", "/var/lib/kubelet/pods/1-2/volumes/kubernetes.io~csi/id/mount", "pod", "space", "true", "", "")
	f.Add("../..", "/../x", "..", "a\nb", "", "tenant", "ext4")
	f.Fuzz(func(t *testing.T, id, target, pod, space, inline, attribute, fs string) {
		v, err := parsePublish(&csi.NodePublishVolumeRequest{
			VolumeId: id, TargetPath: target,
			VolumeCapability: &csi.VolumeCapability{AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: fs}}},
			VolumeContext:    map[string]string{podName: pod, namespace: space, ephemeral: inline, kubelet + attribute: ""},
		})
		if err != nil {
			if status.Code(err) != codes.InvalidArgument {
				t.Errorf("%v", err)
			}
			return
		}
		if !directory.MatchString(v.id) || !asker.MatchString(v.User) || len(v.User) > 320 {
			t.Errorf("the directory is %q, for %q", v.id, v.User)
		}
		if v.Target != target || filepath.Clean(target) != target || !filepath.IsAbs(target) {
			t.Errorf("the target is %q, of %q", v.Target, target)
		}
		u, err := parseVolume(id, target)
		if err != nil || u.id != v.id || u.Target != v.Target {
			t.Errorf("to unpublish is %+v, %v", u, err)
		}
	})
}
