//go:build linux

package csi

import (
	"path/filepath"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/flakeward/flakeward/csi/podsocket"
)

// What kubelet says of the pod, if the CSIDriver object has podInfoOnMount: true.
const (
	kubelet   = "csi.storage.k8s.io/"
	ephemeral = kubelet + "ephemeral"
	podName   = kubelet + "pod.name"
	namespace = kubelet + "pod.namespace"
)

// Kubernetes' own limits, and the system's, in bytes.
const (
	longestNode      = 256
	longestNamespace = 63
	longestPod       = 253
	longestTarget    = 4095
)

// volume is a pod's directory, and where it is to be shown.
type volume struct {
	id string // in the daemon's directory
	podsocket.Entry
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// parseVolume reads what both requests have.
func parseVolume(id, target string) (volume, error) {
	switch {
	case id == "":
		return volume{}, invalid("the request has no volume ID")
	case target == "":
		return volume{}, invalid("the request has no target path")
	case len(target) > longestTarget || !filepath.IsAbs(target) || strings.ContainsRune(target, 0):
		return volume{}, invalid("the target path %.200q is no absolute path of at most %d bytes", target, longestTarget)
	}
	if clean := filepath.Clean(target); clean != target || clean == "/" {
		return volume{}, invalid("the target path %.200q is not in its shortest form, or the root", target)
	}
	return volume{podsocket.ID(id), podsocket.Entry{Target: target}}, nil
}

// parsePublish reads a request to show a volume. Its errors are the pod's author's to read.
func parsePublish(r *csi.NodePublishVolumeRequest) (volume, error) {
	v, err := parseVolume(r.GetVolumeId(), r.GetTargetPath())
	if err != nil {
		return v, err
	}
	c := r.GetVolumeCapability()
	switch {
	case c == nil:
		return v, invalid("the request has no volume capability")
	case c.GetMount() == nil:
		return v, invalid("a volume of %s is a directory: it cannot be a block device", Name)
	case c.GetMount().GetFsType() != "" || len(c.GetMount().GetMountFlags()) > 0:
		return v, invalid("a volume of %s has neither fsType nor mount options: leave them out", Name)
	}
	given := r.GetVolumeContext()
	for name := range given {
		if !strings.HasPrefix(name, kubelet) {
			return v, invalid("a volume of %s has no attributes: leave out volumeAttributes (%.100q)", Name, name)
		}
	}
	if given[ephemeral] != "true" {
		return v, invalid("%s has inline volumes only: name the driver in the pod's volumes, as csi.driver, without a claim, "+
			"and see that the CSIDriver object has volumeLifecycleModes: [Ephemeral] and podInfoOnMount: true", Name)
	}
	pod, space := given[podName], given[namespace]
	if pod == "" || space == "" {
		return v, invalid("kubelet does not say which pod the volume is for: the CSIDriver object %s needs podInfoOnMount: true", Name)
	}
	if !isName(pod, longestPod) || !isName(space, longestNamespace) {
		return v, invalid("the pod %.300q in namespace %.100q has a name that Kubernetes does not allow", pod, space)
	}
	v.User = space + "/" + pod
	return v, nil
}

// isName reports whether a name has only what names have in Kubernetes: small letters, digits,
// and within, hyphens and dots.
func isName(name string, longest int) bool {
	strange := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' }
	return name != "" && len(name) <= longest && strings.Trim(name, "-.") == name && !strings.ContainsFunc(name, strange)
}
