//go:build e2e

package kube

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Where the node's parts write, in the memory of these namespaces.
const (
	runDir      = "/run/node"
	containerd  = "/run/containerd/containerd.sock"
	recordedDir = "/var/lib/recorded" // what the applications record, in a directory for each namespace
	kubeletDir  = "/var/lib/kubelet"
)

// long bounds each wait for the node: it runs beside much else.
const long = 2 * time.Minute

// node is a Kubernetes of one node, in the namespaces of this process.
type node struct {
	*testing.T
	began   time.Time
	ended   chan string // programs that should not have
	windows []window    // of what was done
}

// startNode brings the node up. The end of process 1 takes it down.
func startNode(t *testing.T) *node {
	n := &node{T: t, began: time.Now(), ended: make(chan string, 10)}
	t.Cleanup(func() {
		if t.Failed() {
			n.explain()
		}
	})
	n.must(os.MkdirAll(filepath.Join(runDir, "log"), 0o755))
	n.certify()
	n.configure()
	n.start("etcd", "--data-dir", filepath.Join(runDir, "etcd"), "--unsafe-no-fsync", "--listen-client-urls",
		"http://127.0.0.1:2379,http://"+nodeAddress+":2379", "--advertise-client-urls", "http://"+nodeAddress+":2379",
		"--listen-peer-urls", "http://127.0.0.1:2380")
	n.start("kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--secure-port=6443",
		"--bind-address="+nodeAddress, "--client-ca-file="+n.pki("ca.crt"), "--tls-cert-file="+n.pki("apiserver.crt"),
		"--tls-private-key-file="+n.pki("apiserver.key"), "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+n.pki("accounts.crt"), "--service-account-signing-key-file="+n.pki("accounts.key"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--service-cluster-ip-range=10.96.0.0/16", "--kubelet-certificate-authority="+n.pki("ca.crt"),
		"--kubelet-client-certificate="+n.pki("kubelet-client.crt"), "--kubelet-client-key="+n.pki("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP")
	n.start("containerd", "-c", filepath.Join(runDir, "containerd.toml"))
	n.until("containerd answers", func() (string, bool) {
		out, err := n.try("ctr", "-a", containerd, "version")
		return out, err == nil
	})
	n.do("ctr", "-a", containerd, "-n", "k8s.io", "images", "import", n.program("images.tar"))
	n.until("the API server is ready", func() (string, bool) {
		out, err := n.try("kubectl", "get", "--raw", "/readyz")
		return out, err == nil && out == "ok"
	})
	n.kubectl("create", "clusterrolebinding", "kubelet-client", "--clusterrole=system:kubelet-api-admin", "--user=kubelet-client")
	for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
		conf := n.pki(name + ".conf")
		args := []string{"--kubeconfig=" + conf, "--authentication-kubeconfig=" + conf, "--authorization-kubeconfig=" + conf,
			"--bind-address=127.0.0.1", "--leader-elect=false"}
		if name == "kube-controller-manager" {
			args = append(args, "--service-account-private-key-file="+n.pki("accounts.key"), "--root-ca-file="+n.pki("ca.crt"),
				"--use-service-account-credentials=true")
		}
		n.start(name, args...)
	}
	n.start("kubelet", "--config="+filepath.Join(runDir, "kubelet.yaml"), "--kubeconfig="+n.pki("kubelet.conf"),
		"--cert-dir="+filepath.Join(runDir, "kubelet-pki"), "--hostname-override="+nodeName, "--node-ip="+nodeAddress)
	n.kubectl("wait", "--for=create", "node/"+nodeName, "--timeout="+long.String())
	n.kubectl("wait", "--for=condition=Ready", "node/"+nodeName, "--timeout="+long.String())
	n.Logf("FIGURE the node is ready %v after the first process", n.age())
	return n
}

func (n *node) age() time.Duration { return time.Since(n.began).Round(100 * time.Millisecond) }

func (n *node) program(name string) string {
	path, err := filepath.Abs(filepath.Join(*programs, name))
	n.must(err)
	if _, err := os.Stat(path); err != nil {
		return name // the host's
	}
	return path
}

// configure writes what the programs read.
func (n *node) configure() {
	for name, text := range map[string]string{
		"cni/10-pods.conflist": `{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "pods0", "isGateway": true,
 "ipam": {"type": "host-local", "dataDir": "` + runDir + `/addresses", "ranges": [[{"subnet": "10.88.7.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
`,
		// Without CAP_SYS_RESOURCE nobody gets a lower oom_score_adj than the own one.
		"containerd.toml": `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "` + containerd + `"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "flakeward-pause:local"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "` + n.program("cni") + `"
    conf_dir = "` + runDir + `/cni"
`,
		"kubelet.yaml": `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: ` + nodeAddress + `
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: ` + n.pki("ca.crt") + `}}
authorization: {mode: Webhook}
tlsCertFile: ` + n.pki("kubelet.crt") + `
tlsPrivateKeyFile: ` + n.pki("kubelet.key") + `
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
resolvConf: ""
containerRuntimeEndpoint: unix://` + containerd + `
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
volumePluginDir: ` + runDir + `/plugins
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
`,
		// The kernel's limits of connections are the host's.
		"kube-proxy.yaml": `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clientConnection: {kubeconfig: ` + n.pki("kube-proxy.conf") + `}
hostnameOverride: ` + nodeName + `
clusterCIDR: 10.88.7.0/24
mode: iptables
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`,
	} {
		path := filepath.Join(runDir, name)
		n.must(os.MkdirAll(filepath.Dir(path), 0o755))
		n.must(os.WriteFile(path, []byte(text), 0o644))
	}
}

// start runs a program until process 1 ends, and with it everybody who waits here. Its log is
// NAME.log.
func (n *node) start(name string, args ...string) {
	log, err := os.Create(filepath.Join(runDir, "log", name+".log"))
	n.must(err)
	defer log.Close()
	cmd := exec.Command(n.program(name), args...)
	cmd.Stdout, cmd.Stderr = log, log
	n.must(cmd.Start())
	go func() { n.ended <- fmt.Sprintf("%s has ended: %v", name, cmd.Wait()) }()
}

func (n *node) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

// try runs a program for at most three minutes, and returns all that it prints.
func (n *node) try(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), long+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.program(name), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+n.pki("admin.conf"), "HOME="+runDir) // what helm and kubectl keep
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// do runs a program, and wants it to succeed.
func (n *node) do(name string, args ...string) string {
	n.Helper()
	out, err := n.try(name, args...)
	if err != nil {
		n.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return out
}

func (n *node) kubectl(args ...string) string {
	n.Helper()
	return n.do("kubectl", args...)
}

// until waits for at most two minutes, and says at the end what it saw last.
func (n *node) until(what string, holds func() (saw string, ok bool)) {
	n.Helper()
	for end := time.Now().Add(long); ; pause() {
		saw, ok := holds()
		if ok {
			return
		}
		select {
		case program := <-n.ended:
			n.Fatal(program)
		default:
		}
		if time.Now().After(end) {
			n.Fatalf("not within %v: %s; last seen:\n%s", long, what, saw)
		}
	}
}

// explain prints what helps to see why a drill failed.
func (n *node) explain() {
	show := func(title, text string) {
		n.Logf("--- %s\n%s", title, text[max(0, len(text)-12_000):])
	}
	commands := [][]string{
		{"get", "all,csidriver,csinode", "-A", "-o", "wide"},
		{"get", "events", "-A", "--sort-by=.lastTimestamp"},
		{"describe", "pods", "-A"},
		{"logs", "-n", system, "-l", daemonPods, "--prefix", "--tail=60"},
		{"logs", "-n", system, "-l", daemonPods, "--prefix", "--tail=30", "--previous"},
		{"logs", "-n", system, "-l", driverPods, "--prefix", "--tail=60"},
		{"logs", "-n", system, "-l", etcdPods, "--prefix", "--tail=30"},
		{"logs", "-n", "kube-system", "-l", "k8s-app=kube-dns", "--prefix", "--tail=30"},
	}
	if _, err := n.try("kubectl", "get", "--raw", "/readyz"); err != nil {
		commands = nil
	}
	for _, args := range commands {
		out, err := n.try("kubectl", args...)
		show("kubectl "+strings.Join(args, " "), fmt.Sprint(out, " ", err))
	}
	logs, _ := filepath.Glob(filepath.Join(runDir, "log", "*.log"))
	for _, path := range logs {
		text, err := os.ReadFile(path)
		show(path, string(text[max(0, len(text)-3000):])+fmt.Sprint(" ", err))
	}
}
