//go:build e2e

package kube

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Where the volumes of the members of etcd are, and the claim of one of them.
const (
	volumesDir = "/var/lib/volumes"
	etcdSet    = "statefulset/flakeward-etcd"
	etcdPods   = "app.kubernetes.io/component=etcd"
)

// byOwnEtcd has helm install daemons with an etcd of their own, on a node with services and DNS,
// does to its members what may happen to them, under load, and takes it all down. After that the
// manifests do the same with TLS.
func (n *node) byOwnEtcd() {
	n.services()
	n.namespaces()
	n.withEtcdOfTheChart()
	n.withEtcdOfTheManifests()
	n.kubectl("delete", "-f", "dns.yaml", "--timeout="+long.String())
	n.nothingLeft()
}

// services gives the node the addresses of services, and their names.
func (n *node) services() {
	n.must(os.WriteFile("/proc/sys/net/bridge/bridge-nf-call-iptables", []byte("1"), 0)) // of this network namespace
	n.start("kube-proxy", "--config="+filepath.Join(runDir, "kube-proxy.yaml"))
	n.kubectl("apply", "-f", "dns.yaml")
	n.await("kube-system", "deployment/coredns")
	n.Logf("FIGURE services have names %v after the first process", n.age())
}

// freshNode gives the node empty volumes.
func (n *node) freshNode() {
	n.must(os.RemoveAll(volumesDir))
	for i := range 4 { // one of them a spare
		n.volume(fmt.Sprintf("etcd-%d", i))
	}
	n.kubectl("create", "namespace", system)
	n.kubectl("label", "namespace", system, "pod-security.kubernetes.io/enforce=privileged")
}

// volume makes an empty volume that any claim may have.
func (n *node) volume(name string) {
	n.Helper()
	path := filepath.Join(volumesDir, name)
	n.must(os.MkdirAll(path, 0o755))
	n.applied(`apiVersion: v1
kind: PersistentVolume
metadata: {name: ` + name + `, labels: {of: etcd}}
spec:
  capacity: {storage: 2Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  local: {path: ` + path + `}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [` + nodeName + `]}]}]}}
`)
}

// withEtcdOfTheChart is the release with etcd.enabled alone, besides the images of the drills.
func (n *node) withEtcdOfTheChart() {
	n.freshNode()
	if out, err := n.try("helm", "install", "flakeward", chart, "--namespace", system); err == nil || !strings.Contains(out, "etcd.enabled=true") {
		n.Errorf("helm without a coordinator says: %v\n%s", err, out)
	}
	began := n.age()
	n.do("helm", "install", "flakeward", chart, "--namespace", system, "--set", "etcd.enabled=true", "--set", "cluster.empty=true", "--set", "image.tag=kube", "--set", "csi.image.tag=kube",
		"--set", "etcd.image.repository=flakeward-etcd", "--set", "etcd.image.tag=local", "--timeout", long.String())
	n.await(system, daemon)
	n.await(system, driver)
	n.deploy("one", "own", steady)
	n.await("one", "deployment/own")
	n.grow("one", "own")
	n.Logf("FIGURE an etcd of three members, daemons and an application on them take %v from helm install on", n.age()-began)

	grow := func() { n.grow("one", "own") }
	n.during("a member of etcd killed, the leader", false, func() { n.kill(n.leader(), etcdSet) }, n.granted, grow)
	n.during("a member of etcd loses its volume, and is repaired", false, n.loseVolume, n.granted, grow)
	n.during("the members of etcd restarted, one after the other", false, func() {
		n.kubectl("-n", system, "rollout", "restart", etcdSet)
		n.await(system, etcdSet)
	}, n.granted, grow)
	n.during("the daemon updated on its etcd", false, func() { n.update(daemon, daemonPods) }, n.granted, grow)
	n.kubectl("-n", "one", "delete", "deployment", "own", "--timeout="+long.String())
	n.kubectl("-n", "one", "wait", "--for=delete", "pod", "-l", "app=own", "--timeout="+long.String())
	n.do("helm", "uninstall", "flakeward", "--namespace", system, "--wait", "--timeout", long.String())
	if claims := strings.Fields(n.kubectl("-n", system, "get", "pvc", "-o", "name")); len(claims) != 3 {
		n.Errorf("of the members' volumes there are %v after helm uninstall", claims)
	}
	n.removeNode()
}

// withEtcdOfTheManifests is the component etcd with TLS.
func (n *node) withEtcdOfTheManifests() {
	n.freshNode()
	secret := func(name, certificate string) {
		n.kubectl("-n", system, "create", "secret", "generic", name, "--from-file=ca.crt="+n.pki("ca.crt"),
			"--from-file=tls.crt="+n.pki(certificate+".crt"), "--from-file=tls.key="+n.pki(certificate+".key"))
	}
	secret("flakeward-etcd", "etcd")
	secret("flakeward-coordinator", "flakeward")
	n.kubectl("apply", "-k", "etcd")
	n.create("--coord-ca=/etc/flakeward-coordinator/ca.crt", "--coord-cert=/etc/flakeward-coordinator/tls.crt", "--coord-key=/etc/flakeward-coordinator/tls.key")
	n.await(system, etcdSet)
	n.await(system, daemon)
	n.await(system, driver)
	n.deploy("one", "tls", steady)
	n.await("one", "deployment/tls")
	grow := func() { n.grow("one", "tls") }
	n.during("with TLS: a member of etcd killed", false, grow, func() { n.kill("flakeward-etcd-0", etcdSet) }, n.granted, grow)
	n.kubectl("delete", "-f", "apps.yaml", "--timeout="+long.String())
	n.kubectl("delete", "-k", "etcd", "--timeout="+long.String())
	n.removeNode()
}

// removeNode takes away what freshNode made.
func (n *node) removeNode() {
	n.kubectl("delete", "namespace", system, "--ignore-not-found", "--timeout="+long.String())
	n.kubectl("delete", "pv", "-l", "of=etcd", "--timeout="+long.String())
}

// etcdctl runs the client in a member's pod.
func (n *node) etcdctl(member string, args ...string) string {
	n.Helper()
	return n.kubectl(append([]string{"-n", system, "exec", member, "--", "etcdctl"}, args...)...)
}

// leader is the pod that leads.
func (n *node) leader() string {
	n.Helper()
	status := n.etcdctl("flakeward-etcd-0", "endpoint", "status", "--cluster", "-w", "fields")
	var endpoint, id string
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " : ")
		switch value = strings.Trim(value, `"`); name {
		case `"MemberID"`:
			id = value
		case `"Leader"`:
			if value == id {
				endpoint = id
			}
		case `"Endpoint"`:
			if endpoint == id && id != "" {
				return regexp.MustCompile(`flakeward-etcd-\d`).FindString(value)
			}
		}
	}
	n.Fatalf("there is no leader:\n%s", status)
	return ""
}

// repair is the documented one.
var repair = regexp.MustCompile("(?s)```sh\n(# member repair\n.*?)```")

// loseVolume empties a member's volume, and repairs the member as docs/kubernetes.md says.
func (n *node) loseVolume() {
	const lost = "flakeward-etcd-1"
	volume := n.kubectl("-n", system, "get", "pvc", "data-"+lost, "-o", "jsonpath={.spec.volumeName}")
	n.do("find", filepath.Join(volumesDir, volume), "-mindepth", "1", "-delete")
	n.killContainer(lost)
	n.until("the member without its volume refuses to start", func() (string, bool) {
		out, err := n.try("kubectl", "-n", system, "logs", lost, "--tail=20")
		return out, err == nil && strings.Contains(out, "has already been bootstrapped")
	})
	n.granted()
	page, err := os.ReadFile("../../docs/kubernetes.md")
	n.must(err)
	commands := repair.FindSubmatch(page)
	if commands == nil {
		n.Fatal("docs/kubernetes.md does not say how a member is repaired")
	}
	began := n.age()
	n.do("sh", "-ec", `kubectl() { "$KUBECTL" "$@"; }; KUBECTL=`+n.program("kubectl")+"\n"+string(commands[1]))
	n.Logf("FIGURE the documented commands repaired the member in %v", n.age()-began)
	n.await(system, etcdSet)
	// A member is ready before it serves clients and is listed as started, by seconds at times.
	n.until("the repaired member lists three that are started", func() (string, bool) {
		members, err := n.try("kubectl", "-n", system, "exec", lost, "--", "etcdctl", "member", "list")
		return members, err == nil && strings.Count(members, " started,") == 3
	})
}

// granted waits until the daemons have written to etcd.
func (n *node) granted() {
	n.Helper()
	before := n.revision()
	n.until("the daemon is granted more", func() (string, bool) {
		return before, n.revision() != before
	})
}

var revision = regexp.MustCompile(`"revision":(\d+)`)

// revision is that of the daemons' last write, as a quorum has it.
func (n *node) revision() string {
	n.Helper()
	out, err := n.try("kubectl", "-n", system, "exec", "flakeward-etcd-2", "--", "etcdctl", "get", "--prefix", "/flakeward/", "--keys-only", "--limit=1", "-w", "json")
	if m := revision.FindStringSubmatch(out); err == nil && m != nil {
		return m[1]
	}
	return ""
}
