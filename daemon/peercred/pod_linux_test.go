package peercred

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

const (
	uid   = "pod0c3a1f52-9d4e-4b6a-8f10-2e7d5c9b1a34"
	other = "pod1c3a1f52-9d4e-4b6a-8f10-2e7d5c9b1a34"
)

// Both of kubelet's drivers, both versions of cgroups, and a namespace of them are understood. What
// is no pod's is nobody's.
func TestAPodIsToldByItsCgroup(t *testing.T) {
	systemd := strings.ReplaceAll(uid, "-", "_")
	want := podIn([]byte(uid))
	for _, text := range []string{
		"0::/kubepods/burstable/" + uid + "/4f2a\n",
		"0::/../../" + uid + "/4f2a\n",
		"12:pids:/kubepods/" + uid + "/4f2a\n11:memory:/kubepods/" + uid + "/4f2a\n",
		"12:pids:/\n11:memory:/kubepods/" + uid + "/" + other + "\n",
		"0::/kubepods/" + uid,
	} {
		if got := podIn([]byte(text)); got != want || got < 1<<30 || got >= 1<<31 {
			t.Errorf("%q is of pod %#x, want %#x", text, got, want)
		}
	}
	all := map[uint32]string{}
	for _, text := range []string{
		"0::/kubepods/" + uid + "/a", "0::/kubepods/" + other + "/a",
		"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" + systemd + ".slice/cri-containerd-4f2a.scope",
		"0::/kubepods/besteffort/pod0123456789abcdef0123456789abcdef/4f2a", // a static pod
	} {
		n := podIn([]byte(text))
		if n == 0 || all[n] != "" {
			t.Errorf("%q has the number %#x, as %q", text, n, all[n])
		}
		all[n] = text
	}
	for _, text := range []string{
		"", "\n", "0::/", "0::/init.scope", "0::/user.slice/user-1000.slice/session-2.scope", "0::/system.slice/podman.service",
		"0::/machine.slice/libpod-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope",
		"0::/kubepods/podX", "0::/kubepods/pod0c3a1f52-9d4e-4b6a-8f10-2e7d5c9b1a3", "\x00pod\xff", "0::/docker/" + strings.Repeat("a", 64),
	} {
		if n := podIn([]byte(text)); n != 0 {
			t.Errorf("%q is taken for pod %#x", text, n)
		}
	}
}

// A process that is gone, and this one's own pod, are no pod.
func TestOwnPodIsNone(t *testing.T) {
	if text := cgroupOf("0"); text != nil {
		t.Errorf("nobody's cgroup is %q", text)
	}
	if text := cgroupOf("self"); len(text) == 0 || otherPod(text) != 0 {
		t.Errorf("this process's cgroup %q is another pod's", text)
	}
	defer func(was uint32) { ownPod = was }(ownPod)
	ownPod = podIn([]byte(uid))
	if otherPod([]byte(uid)) != 0 || otherPod([]byte(other)) == 0 {
		t.Error("the own pod and another are not told apart")
	}
}

func FuzzPodIn(f *testing.F) {
	f.Add([]byte("0::/kubepods/" + uid + "/a"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if n := podIn(text); n != 0 && (n < 1<<30 || n >= 1<<31) {
			t.Errorf("%q is of pod %#x", text, n)
		}
	})
}

// A daemon that is in no pod reads nothing of who connects.
func TestPodsAreToldApartInAPodAlone(t *testing.T) {
	defer func(was string, in bool) { procfs, inPod = was, in }(procfs, inPod)
	procfs = t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(procfs, "7"), 0o700), os.WriteFile(filepath.Join(procfs, "7", "cgroup"), []byte("0::/../"+uid+"/a\n"), 0o600))
	for _, in := range []bool{true, false} {
		inPod = in
		if got := podOf(7); (got != 0) != in {
			t.Errorf("in a pod: %v; the client's is %#x", in, got)
		}
	}
	if inPod = true; podOf(0) != 0 || podOf(8) != 0 {
		t.Error("a process that is not seen has a pod")
	}
}
