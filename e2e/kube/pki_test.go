//go:build e2e

package kube

import (
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/flakeward/flakeward/internal/certtest"
)

func (n *node) pki(file string) string { return filepath.Join(runDir, "pki", file) }

// certify makes the cluster's authority and its certificates: NAME.crt, NAME.key, and NAME.conf,
// which a client of the API server reads to use them.
func (n *node) certify() {
	ca := certtest.New(n.T, "kube")
	n.must(os.MkdirAll(n.pki(""), 0o700))
	keep := func(file, from string) {
		text, err := os.ReadFile(from)
		n.must(err)
		n.must(os.WriteFile(n.pki(file), text, 0o600))
	}
	keep("ca.crt", ca.File)
	local, node := net.ParseIP("127.0.0.1"), net.ParseIP(nodeAddress)
	for name, of := range map[string]struct {
		user, group string
		names       []string
		addresses   []net.IP
	}{
		"accounts":                {user: "accounts"}, // whose key signs those of service accounts
		"apiserver":               {"kube-apiserver", "", []string{"kubernetes.default.svc", "localhost"}, []net.IP{local, node, net.ParseIP("10.96.0.1")}},
		"admin":                   {user: "admin", group: "system:masters"},
		"kube-controller-manager": {user: "system:kube-controller-manager"},
		"kube-scheduler":          {user: "system:kube-scheduler"},
		"kube-proxy":              {user: "system:kube-proxy"},
		"etcd": {"etcd", "", []string{"flakeward-etcd-0.flakeward-etcd-peers", "flakeward-etcd-1.flakeward-etcd-peers",
			"flakeward-etcd-2.flakeward-etcd-peers", "flakeward-etcd", "localhost"}, []net.IP{local}},
		"kubelet":        {"system:node:" + nodeName, "system:nodes", []string{nodeName}, []net.IP{node}},
		"kubelet-client": {user: "kubelet-client"},
		"flakeward":      {user: "flakeward", names: []string{"flakeward"}},
	} {
		subject := pkix.Name{CommonName: of.user}
		if of.group != "" {
			subject.Organization = []string{of.group}
		}
		pair := ca.Issue(subject, of.names, of.addresses...)
		keep(name+".crt", pair.CertFile)
		keep(name+".key", pair.KeyFile)
		n.must(os.WriteFile(n.pki(name+".conf"), fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://%s:6443", certificate-authority: %s}}]
users: [{name: u, user: {client-certificate: %s, client-key: %s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, nodeAddress, n.pki("ca.crt"), n.pki(name+".crt"), n.pki(name+".key")), 0o600))
	}
}
