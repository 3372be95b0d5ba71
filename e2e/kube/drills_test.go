//go:build e2e

package kube

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

// Where the manifests have the daemon and its socket.
const (
	system = "flakeward"
	daemon = "daemonset/flakeward"
	driver = "daemonset/flakeward-csi"

	daemonPods = "app.kubernetes.io/component=daemon"
	driverPods = "app.kubernetes.io/component=csi"
)

// drill is one thing that happens to a node under load.
type drill struct {
	name    string
	mayFail bool // requests on their way may be lost, and later ones find nobody
	do      func(n *node)
}

var drills = []drill{
	{"five updates of the daemon by surge", false, (*node).updateDaemon},
	{"the driver's update", false, (*node).updateDriver},
	{"an application's pod killed", false, (*node).killApplication},
	{"pods that come and go while the driver is away", false, (*node).withoutDriver},
	{"pods that come and go while the daemon is away", true, (*node).withoutDaemon},
	{"the daemon killed", true, (*node).killDaemon},
	{"a greedy pod beside another", false, (*node).greed},
	{"an application that restarts in a loop", false, (*node).loop},
	{"the node drained", false, (*node).drain},
}

// TestNode applies the manifests to a node, does everything to it under load, and wants no ID
// twice, no request failed that need not, no pod that hangs, and nothing left on the node.
func TestNode(t *testing.T) {
	n := startNode(t)
	n.install()
	n.must(os.MkdirAll(filepath.Join(recordedDir, "one"), 0o777))
	n.must(os.MkdirAll(filepath.Join(recordedDir, "two"), 0o777))
	for _, name := range []string{"", "one", "two"} {
		n.must(os.Chmod(filepath.Join(recordedDir, name), 0o777)) // whatever the umask
	}
	n.namespaces()
	for _, namespace := range []string{"one", "two"} {
		n.deploy(namespace, "app", steady)
	}
	n.wantRestricted("one")
	n.runPod("two", "looping", "help") // it ends at once, and is started again
	n.await("one", "deployment/app")
	n.await("two", "deployment/app")
	n.Logf("FIGURE both applications run %v after the first process", n.age())

	for _, d := range drills {
		n.during(d.name, d.mayFail, func() { d.do(n) }, n.flows)
	}
	n.uninstall()
	n.byChart()
	n.byOwnEtcd()
	j, err := judge(recordedDir, n.windows)
	n.must(err)
	j.verdict(n)
	n.Logf("FIGURE beside a greedy pod, half of the other's requests took %v at most, 99%% of them %v; 10 ms are aimed at",
		j.quantile("two/calm", 0.5), j.quantile("two/calm", 0.99))
	n.Logf("FIGURE all of it took %v", n.age())
}

// during does one thing after the other, and notes the time that they took.
func (n *node) during(name string, mayFail bool, steps ...func()) {
	w := window{name: name, from: evidence.Now(), mayFail: mayFail}
	for _, do := range steps {
		do()
	}
	w.to = evidence.Now()
	n.windows = append(n.windows, w)
	n.Logf("%s: %v after the first process", name, n.age())
}

// wantRestricted wants the namespace to refuse what an application without a CSI driver would need.
func (n *node) wantRestricted(namespace string) {
	n.Helper()
	out, err := n.try("kubectl", "-n", namespace, "run", "refused", "--dry-run=server", "--image=flakeward-sidecar:local", "--overrides",
		`{"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/run/flakeward"}}]}}`)
	if err == nil || !strings.Contains(out, "restricted volume types") {
		n.Fatalf("the namespace %s takes a path of the host: %v\n%s", namespace, err, out)
	}
}

// namespaces makes those of the applications.
func (n *node) namespaces() {
	n.kubectl("apply", "-f", "apps.yaml")
	for _, namespace := range []string{"one", "two"} {
		n.kubectl("wait", "--for=create", "--timeout="+long.String(), "-n", namespace, "serviceaccount/default")
	}
}

// install applies what a user would, with the overlay of this directory.
func (n *node) install() {
	n.kubectl("apply", "-k", "overlay")
	n.create()
	n.await(system, daemon)
	n.await(system, driver)
	n.Logf("FIGURE daemon and driver are ready %v after the first process", n.age())
}

// create has a daemon's pod make the cluster, as docs/kubernetes.md says.
func (n *node) create(args ...string) {
	n.Helper()
	command := append([]string{"-n", system, "exec", daemon, "--", "/flakeward", "cluster", "create", "--empty", "--config=/etc/flakeward/flakeward.yaml"}, args...)
	n.until("the cluster is made", func() (string, bool) {
		out, err := n.try("kubectl", command...)
		return out, err == nil
	})
}

// flows waits until both applications have got more IDs: what they record grows.
func (n *node) flows() {
	n.Helper()
	for _, namespace := range []string{"one", "two"} {
		n.grow(namespace, "app")
	}
}

// grow waits until an application has got more IDs.
func (n *node) grow(namespace, name string) {
	n.Helper()
	had := n.recorded(namespace, name)
	n.until("the application "+name+" in "+namespace+" gets IDs", func() (string, bool) {
		return "its logs do not grow", n.recorded(namespace, name) > had
	})
}

// recorded is how many bytes an application has recorded in all.
func (n *node) recorded(namespace, name string) (bytes int64) {
	logs, err := filepath.Glob(filepath.Join(recordedDir, namespace, name, "*.replies"))
	n.must(err)
	for _, path := range logs {
		info, err := os.Stat(path)
		n.must(err)
		bytes += info.Size()
	}
	return bytes
}

// updateDaemon goes on to the next image and back to the first in turn.
func (n *node) updateDaemon() {
	for range 5 {
		n.update(daemon, daemonPods)
		n.flows()
	}
}

// update gives a DaemonSet its other image, and waits until the old pod is gone.
func (n *node) update(set, label string) {
	n.Helper()
	image := n.kubectl("-n", system, "get", set, "-o", "jsonpath={.spec.template.spec.containers[0].image}")
	other, isNext := strings.CutSuffix(image, "-next")
	if !isNext {
		other += "-next"
	}
	old := n.pods(system, label)
	n.kubectl("-n", system, "set", "image", set, "*="+other)
	n.await(system, set)
	for _, pod := range old {
		n.awaitGone(system, pod)
	}
}

// updateDriver leaves the mounts alone, and mounts for pods that come later.
func (n *node) updateDriver() {
	n.update(driver, driverPods)
	n.runPod("one", "late", steady)
	n.awaitPod("one", "late")
}

// killApplication takes a pod away at once, its process with it. Another takes its place, and
// nothing of the first one stays.
func (n *node) killApplication() {
	old := n.pods("one", "app=app")
	n.kubectl("-n", "one", "delete", "pod", old[0], "--grace-period=0", "--force")
	n.awaitGone("one", old[0])
	n.await("one", "deployment/app")
	n.kubectl("-n", "one", "delete", "pod", "late", "--timeout="+long.String())
	n.mountsOf(3)
}

// withoutDriver deletes a pod while no driver is there to unmount, and makes another one. Both
// wait, and neither does for ever.
func (n *node) withoutDriver() {
	n.runPod("two", "leaving", steady)
	n.awaitPod("two", "leaving")
	back := n.sendAway(driver, driverPods)
	n.kubectl("-n", "two", "delete", "pod", "leaving", "--wait=false")
	n.runPod("two", "coming", steady)
	n.flows()
	back()
	n.awaitGone("two", "leaving")
	n.awaitPod("two", "coming")
	n.kubectl("-n", "two", "delete", "pod", "coming", "--timeout="+long.String())
	n.mountsOf(3)
}

// withoutDaemon deletes a pod while no daemon runs, which needs none, and makes another one, which
// waits for one. The applications that run keep their mounts, and go on with the next daemon.
func (n *node) withoutDaemon() {
	n.runPod("two", "leaving", steady)
	n.awaitPod("two", "leaving")
	back := n.sendAway(daemon, daemonPods)
	n.kubectl("-n", "two", "delete", "pod", "leaving", "--timeout="+long.String())
	n.runPod("two", "coming", steady)
	n.until("the driver tells kubelet that there is no daemon", func() (string, bool) {
		out, err := n.try("kubectl", "-n", "two", "get", "events", "--field-selector", "involvedObject.name=coming,reason=FailedMount", "-o", "name")
		return out, err == nil && out != ""
	})
	back()
	n.awaitPod("two", "coming")
	n.kubectl("-n", "two", "delete", "pod", "coming", "--timeout="+long.String())
	n.mountsOf(3)
}

// sendAway keeps a DaemonSet from the node until back.
func (n *node) sendAway(set, label string) (back func()) {
	n.Helper()
	patch := `{"spec": {"template": {"spec": {"nodeSelector": {"away": "yes"}}}}}`
	old := n.pods(system, label)
	n.kubectl("-n", system, "patch", set, "-p", patch)
	for _, pod := range old {
		n.awaitGone(system, pod)
	}
	return func() {
		n.Helper()
		n.kubectl("-n", system, "patch", set, "-p", strings.ReplaceAll(patch, `"yes"`, "null"))
		n.await(system, set)
	}
}

// killDaemon has the kernel end the daemon's process. The next one takes the place of its socket.
func (n *node) killDaemon() {
	n.kill(n.pods(system, daemonPods)[0], daemon)
	n.flows()
}

// kill has the kernel end the process of a set's pod, and waits until it is ready again.
func (n *node) kill(pod, set string) {
	n.Helper()
	before := n.restarts(pod)
	n.killContainer(pod)
	n.until(pod+" is started again, and ready", func() (string, bool) {
		out, err := n.try("kubectl", "-n", system, "wait", "--for=condition=Ready", "pod/"+pod, "--timeout=1s")
		return out, err == nil && n.restarts(pod) > before
	})
	n.await(system, set)
}

func (n *node) restarts(pod string) int {
	n.Helper()
	count, err := strconv.Atoi(n.kubectl("-n", system, "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].restartCount}"))
	n.must(err)
	return count
}

func (n *node) killContainer(pod string) {
	n.Helper()
	id := n.kubectl("-n", system, "get", "pod", pod, "-o", "jsonpath={.status.containerStatuses[0].containerID}")
	n.do("ctr", "-a", containerd, "-n", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", strings.TrimPrefix(id, "containerd://"))
}

// greed has one pod ask for all that there is, and another one ID each millisecond.
func (n *node) greed() {
	n.runPod("one", "greedy", "--single=0 --pipelined=0 --batch=0 --runs=1us --run-ids=4000")
	n.awaitPod("one", "greedy")
	n.runPod("two", "calm", "--single=1ms --pipelined=0 --batch=0 --runs=0")
	n.awaitPod("two", "calm")
	<-time.After(5 * time.Second) // for so long it is measured
	n.kubectl("-n", "two", "delete", "pod", "calm", "--timeout="+long.String())
	n.kubectl("-n", "one", "delete", "pod", "greedy", "--timeout="+long.String())
}

// drain evicts the applications. They come back when the node may be used again.
func (n *node) drain() {
	n.kubectl("drain", nodeName, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout="+long.String())
	n.mountsOf(0)
	n.kubectl("uncordon", nodeName)
	n.await("one", "deployment/app")
	n.await("two", "deployment/app")
	n.mountsOf(2)
}

// loop wants the pod that ends at once to have been started again and again, with one mount.
func (n *node) loop() {
	n.until("the looping pod is started for the third time", func() (string, bool) {
		out, err := n.try("kubectl", "-n", "two", "get", "pod", "looping", "-o", "jsonpath={.status.containerStatuses[0].restartCount}")
		return out, err == nil && out >= "2"
	})
	n.mountsOf(3)
}

// mountsOf waits until there are as many mounts for pods as there should be.
func (n *node) mountsOf(pods int) {
	n.Helper()
	n.until("one mount for each pod", func() (string, bool) {
		mounts := n.mounts("kubernetes.io~csi")
		return strings.Join(mounts, "\n"), len(mounts) == pods
	})
}

// mounts returns where something is mounted below the kubelet's directory, by a part of its path.
func (n *node) mounts(part string) []string {
	n.Helper()
	table, err := os.ReadFile("/proc/self/mounts")
	n.must(err)
	var found []string
	for line := range strings.Lines(string(table)) {
		if word := strings.Fields(line); strings.HasPrefix(word[1], kubeletDir) && strings.Contains(word[1], part) {
			found = append(found, word[1])
		}
	}
	return found
}

// uninstall takes the applications down, then what serves them, and wants nothing to stay.
func (n *node) uninstall() {
	n.kubectl("delete", "-f", "apps.yaml", "--timeout="+long.String())
	n.mountsOf(0)
	n.kubectl("delete", "-k", "overlay", "--timeout="+long.String())
	n.nothingLeft()
}

// nothingLeft waits until nothing of what was installed stays on the node.
func (n *node) nothingLeft() {
	n.Helper()
	n.until("no pod, container, mount or socket is left", func() (string, bool) {
		pods, err := n.try("kubectl", "get", "pods", "-A", "-o", "name")
		tasks, taskErr := n.try("ctr", "-a", containerd, "-n", "k8s.io", "tasks", "ls", "-q")
		left := append(n.mounts("/pods/"), n.sockets("/run/flakeward", kubeletDir+"/plugins", kubeletDir+"/plugins_registry")...)
		return strings.Join(append(left, pods, tasks), "\n"), err == nil && taskErr == nil && pods == "" && tasks == "" && len(left) == 0
	})
	n.Logf("FIGURE everything was taken down %v after the first process, and no socket, mount or container stayed", n.age())
}

// sockets returns the socket files below directories.
func (n *node) sockets(dirs ...string) []string {
	n.Helper()
	var found []string
	for _, dir := range dirs {
		n.must(filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type() == fs.ModeSocket {
				found = append(found, path)
			}
			return nil // what is gone is not left
		}))
	}
	return found
}
