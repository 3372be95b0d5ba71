//go:build e2e

package kube

import (
	"io"
	"net/http"
	"strings"
)

// password is what all but metrics and probes needs at the metrics' address.
const password = "0123456789abcdef0123456789abcdef"

// operator has the API server know the kinds of the Prometheus Operator, and makes the secret that
// the monitoring part wants. Nothing acts on objects of these kinds.
func (n *node) operator() {
	n.Helper()
	n.kubectl("apply", "--server-side", "-f", n.program("kinds"))
	n.kubectl("wait", "--for=condition=Established", "--timeout="+long.String(),
		"crd/podmonitors.monitoring.coreos.com", "crd/prometheusrules.monitoring.coreos.com")
	n.kubectl("-n", system, "create", "secret", "generic", "flakeward-password", "--from-literal=password="+password)
}

// taken wants the API server to take each object of the chart and of the manifests, with all parts
// and with less, and to refuse one that is wrong.
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
		"kind: PodMonitor\nspec: {selector: {}, podMetricsEndpoints: [{prot: ids}]}\n",
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
		wants = append(wants, "podmonitor.monitoring.coreos.com/flakeward ", "prometheusrule.monitoring.coreos.com/flakeward ", "networkpolicy.networking.k8s.io/flakeward-metrics ")
	}
	for _, want := range wants {
		if !strings.Contains(said, want) {
			n.Errorf("the API server did not take %s:\n%s", want, said)
		}
	}
}

// monitored reads the metrics as the PodMonitor has Prometheus do it, and wants nothing else to be
// had there without the password.
func (n *node) monitored() {
	n.Helper()
	endpoint := strings.Fields(n.kubectl("-n", system, "get", "podmonitor", "flakeward", "-o",
		`go-template={{with index .spec.podMetricsEndpoints 0}}{{.path}} {{.port}}{{end}}`))
	pod := n.pods(system, daemonPods)[0]
	address := n.kubectl("-n", system, "get", "pod", pod, "-o", "jsonpath={.status.podIP}")
	port := n.kubectl("-n", system, "get", "pod", pod, "-o", `jsonpath={.spec.containers[0].ports[?(@.name=="`+endpoint[1]+`")].containerPort}`)
	client := http.Client{Timeout: long}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		path, password string
		want           int
	}{{endpoint[0], "", http.StatusOK}, {"/v1/ids", "", http.StatusUnauthorized}, {"/v1/ids", "another", http.StatusUnauthorized}, {"/v1/ids", password, http.StatusOK}} {
		request, err := http.NewRequestWithContext(n.Context(), http.MethodGet, "http://"+address+":"+port+c.path, nil)
		n.must(err)
		request.SetBasicAuth("prometheus", c.password)
		reply, err := client.Do(request)
		n.must(err)
		body, err := io.ReadAll(reply.Body)
		n.must(err)
		n.must(reply.Body.Close())
		if reply.StatusCode != c.want || c.path == endpoint[0] && !strings.Contains(string(body), "flakeward_ids_issued_total") {
			n.Errorf("%s with the password %q: %s\n%.300s", c.path, c.password, reply.Status, body)
		}
	}
}
