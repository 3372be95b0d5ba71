//go:build e2e

package kube

// chart is the Helm chart, from this directory.
const chart = "../../deploy/helm/flakeward"

// chartArgs are those of helm for a release with more values.
func chartArgs(command string, values ...string) []string {
	args := []string{command, "flakeward", chart, "--namespace", system, "--set", "settings.coord=etcd://" + nodeAddress + ":2379/flakeward"}
	for _, value := range append([]string{"image.tag=kube", "csi.image.tag=kube"}, values...) {
		args = append(args, "--set", value)
	}
	return args
}

// byChart has helm install what the manifests installed before, beside it a pod with a daemon of
// its own, upgrade the release under load, and take it down.
func (n *node) byChart() {
	n.namespaces()
	n.kubectl("create", "namespace", system)
	n.kubectl("label", "namespace", system, "pod-security.kubernetes.io/enforce=privileged")
	n.operator()
	n.taken()
	helm := func(args ...string) { n.do("helm", append(args, "--wait", "--timeout", long.String())...) }
	grow := func() { n.grow("one", "chart") }
	helm(chartArgs("install", "cluster.empty=true")...)
	n.deploy("one", "chart", steady)
	n.await("one", "deployment/chart")
	n.during("a pod with a daemon of its own, beside the chart's", false, func() {
		n.kubectl("apply", "-k", "sidecar")
		n.await("one", "deployment/sidecar")
		n.grow("one", "sidecar")
	}, grow)
	n.during("the chart's release upgraded to the next image, and monitored", false, func() {
		old := append(n.pods(system, daemonPods), n.pods(system, driverPods)...)
		helm(chartArgs("upgrade", "image.tag=kube-next", "csi.image.tag=kube-next", "monitoring.enabled=true")...)
		for _, pod := range old {
			n.awaitGone(system, pod)
		}
		n.grow("one", "sidecar")
	}, grow)
	n.monitored()
	n.kubectl("delete", "-k", "sidecar", "--timeout="+long.String())
	n.kubectl("delete", "-f", "apps.yaml", "--timeout="+long.String())
	n.mountsOf(0)
	helm("uninstall", "flakeward", "--namespace", system)
	if left := n.kubectl("get", "daemonsets,configmaps,csidrivers,secrets,podmonitors,prometheusrules", "--namespace", system, "-l", "app.kubernetes.io/name=flakeward", "-o", "name"); left != "" {
		n.Errorf("helm left %s", left)
	}
	n.kubectl("delete", "namespace", system, "--timeout="+long.String())
	n.nothingLeft()
}
