package peercred

import (
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// podUID finds a pod's UID in a cgroup's path, as kubelet writes it by either of its drivers:
// kubepods/burstable/podUID/... and kubepods-burstable-podUID.slice/..., with _ for -. A static
// pod's UID is a hash, without either.
var podUID = regexp.MustCompile(`pod[0-9a-f]{8}([-_]?[0-9a-f]{4}){3}[-_]?[0-9a-f]{12}\b`)

// mostCgroup bounds how much of a process's cgroups is read: a dozen lines with cgroup v1.
const mostCgroup = 8 << 10

var (
	// ownPod is the pod that this process is in, where its cgroup tells; 0: none, or not told.
	ownPod = podIn(cgroupOf("self"))
	// inPod is whether it is in one. A namespace of cgroups hides which; kubelet sets the variable.
	inPod = ownPod != 0 || os.Getenv("KUBERNETES_SERVICE_HOST") != ""
	// procfs is where the processes are; tests have their own.
	procfs = "/proc"
)

// podOf is the pod of the process that connected; 0: none, or the daemon's own. A daemon that is in
// no pod is not asked to tell pods apart, and need not read a file for each connection.
func podOf(pid int32) uint32 {
	if !inPod || pid <= 0 { // 0: of a PID namespace that is not seen
		return 0
	}
	return otherPod(cgroupOf(strconv.Itoa(int(pid))))
}

// cgroupOf is the text of /proc/PID/cgroup; empty: it cannot be had.
func cgroupOf(pid string) []byte {
	f, err := os.Open(filepath.Join(procfs, pid, "cgroup"))
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
