package peercred

import (
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

// podUID finds a pod's UID in a cgroup's path, as kubelet writes it by either of its drivers:
// kubepods/burstable/podUID/... and kubepods-burstable-podUID.slice/..., with _ for -. A static pod's
// UID is a hash, without either.
var podUID = regexp.MustCompile(`pod[0-9a-f]{8}([-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12}\b`)

// mostCgroup bounds how much of a process's cgroups is read: a dozen lines with cgroup v1.
const mostCgroup = 8 << 10

// ownPod is the pod that this process is in; 0: none.
var ownPod = podIn(cgroupOf("self"))

// cgroupOf is the text of /proc/PID/cgroup; empty: it cannot be had.
func cgroupOf(pid string) []byte {
	f, err := os.Open(filepath.Join("/proc", pid, "cgroup"))
	if err != nil {
		return nil // the process is gone
	}
	defer f.Close() // it was only read
	text, _ := io.ReadAll(io.LimitReader(f, mostCgroup))
	return text
}

// otherPod is podIn, but 0 for this process's own pod: its probes are the daemon's.
func otherPod(cgroup []byte) uint32 {
	if pod := podIn(cgroup); pod != ownPod {
		return pod
	}
	return 0
}

// podIn is a number for the pod whose cgroup a text names; 0: none. It has 30 bits and is above all
// that other users are numbered with. The outermost pod counts: a container may make cgroups.
func podIn(cgroup []byte) uint32 {
	uid := podUID.Find(cgroup)
	if uid == nil {
		return 0
	}
	h := fnv.New32a()
	_, _ = h.Write(uid)
	return h.Sum32()>>2 | 1<<30
}
