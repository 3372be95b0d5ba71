//go:build e2e

package kube

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"strings"
)

// adminToken is what Prometheus shows to read the metrics.
const adminToken = "0123456789abcdef0123456789abcdef"

// operator has the API server know the kinds of the Prometheus Operator, and makes the secret that
// the monitoring part wants. Nothing acts on objects of these kinds.
func (n *node) operator() {
	n.Helper()
	n.kubectl("apply", "--server-side", "-f", n.program("kinds"))
	n.kubectl("wait", "--for=condition=Established", "--timeout="+long.String(),
		"crd/podmonitors.monitoring.coreos.com", "crd/prometheusrules.monitoring.coreos.com")
	n.kubectl("-n", system, "create", "secret", "generic", "flakeward-admin", "--from-literal=token="+adminToken,
		"--from-file=tls.crt="+n.pki("flakeward.crt"), "--from-file=tls.key="+n.pki("flakeward.key"), "--from-file=ca.crt="+n.pki("ca.crt"))
}

// taken wants the API server to take each object of the chart and of the manifests, with all parts and
// with less, and to refuse one that is wrong.
func (n *node) taken() {
	n.Helper()
	dry := []string{"--server-side", "--dry-run=server"}
	for _, values := range [][]string{
		nil,
		{"networkPolicy.enabled=true", "coordinatorTLS.secret=flakeward-coordinator", "monitoring.enabled=true"},
		{"csi.enabled=false"},
	} {
		n.wantTaken(n.applied(n.do("helm", chartArgs("template", values...)...), dry...), len(values) == 3)
	}
	n.wantTaken(n.kubectl(append([]string{"apply", "-k", "everything"}, dry...)...), true)
	for _, wrong := range []string{
		"kind: PodMonitor\nspec: {selector: {}, podMetricsEndpoints: [{prot: admin}]}\n",
		"kind: PrometheusRule\nspec: {groups: [{name: x, rules: [{record: x}]}]}\n",
	} {
		path := n.written("apiVersion: monitoring.coreos.com/v1\nmetadata: {name: wrong}\n" + wrong)
		if out, err := n.try("kubectl", append([]string{"-n", system, "apply", "-f", path}, dry...)...); err == nil {
			n.Errorf("the API server took %s\n%s", wrong, out)
		}
	}
}

// wantTaken wants kubectl to have named the objects.
func (n *node) wantTaken(said string, monitored bool) {
	n.Helper()
	wants := []string{"daemonset.apps/flakeward ", "(server dry run)"}
	if monitored {
		wants = append(wants, "podmonitor.monitoring.coreos.com/flakeward ", "prometheusrule.monitoring.coreos.com/flakeward ", "networkpolicy.networking.k8s.io/flakeward-admin ")
	}
	for _, want := range wants {
		if !strings.Contains(said, want) {
			n.Errorf("the API server did not take %s:\n%s", want, said)
		}
	}
}

// monitored reads the metrics as the PodMonitor has Prometheus do it, and wants nobody else to.
func (n *node) monitored() {
	n.Helper()
	endpoint := strings.Fields(n.kubectl("-n", system, "get", "podmonitor", "flakeward", "-o",
		`go-template={{with index .spec.podMetricsEndpoints 0}}{{.scheme}} {{.path}} {{.port}} {{.tlsConfig.serverName}}{{end}}`))
	pod := n.pods(system, daemonPods)[0]
	address := n.kubectl("-n", system, "get", "pod", pod, "-o", "jsonpath={.status.podIP}")
	port := n.kubectl("-n", system, "get", "pod", pod, "-o", `jsonpath={.spec.containers[0].ports[?(@.name=="`+endpoint[2]+`")].containerPort}`)
	ca, err := os.ReadFile(n.pki("ca.crt"))
	n.must(err)
	known := x509.NewCertPool()
	known.AppendCertsFromPEM(ca)
	client := http.Client{Timeout: long, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: known, ServerName: endpoint[3]}}}
	defer client.CloseIdleConnections()
	for token, want := range map[string]int{adminToken: http.StatusOK, "another": http.StatusUnauthorized} {
		request, err := http.NewRequestWithContext(n.Context(), http.MethodGet, endpoint[0]+"://"+address+":"+port+endpoint[1], nil)
		n.must(err)
		request.Header.Set("Authorization", "Bearer "+token)
		reply, err := client.Do(request)
		n.must(err)
		body, err := io.ReadAll(reply.Body)
		n.must(err)
		n.must(reply.Body.Close())
		if reply.StatusCode != want || strings.Contains(string(body), "flakeward_ids_issued_total") != (want == http.StatusOK) {
			n.Errorf("with the token %s: %s\n%.300s", token, reply.Status, body)
		}
	}
}
