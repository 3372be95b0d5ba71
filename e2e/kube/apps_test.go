//go:build e2e

package kube

import (
	"os"
	"path/filepath"
	"strings"
)

// An application asks for IDs, and records each. Both forms ask 10,000 times a second, a tenth of
// it one at a time.
const steady = "--single=1ms --pipelined=1ms --pipeline=9 --batch=0 --runs=0"

// app is the template of an application's pod. It asks for nothing that a restricted namespace
// refuses.
const app = `
metadata: {labels: {app: NAME}}
spec:
  terminationGracePeriodSeconds: 10
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: app
    image: flakeward-sidecar:local
    imagePullPolicy: Never
    args: [ARGS]
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: flakeward, mountPath: /run/flakeward, readOnly: true}, {name: recorded, mountPath: /recorded}]
  volumes:
  - {name: flakeward, csi: {driver: csi.flakeward.dev, readOnly: true}}
  - {name: recorded, persistentVolumeClaim: {claimName: recorded}}
`

// pod is the pod of an application. What it records is below recordedDir/NAMESPACE/NAME.
func pod(name, args string) string {
	words := append([]string{"load", "--out=/recorded/" + name}, strings.Fields(args)...)
	if !strings.HasPrefix(args, "--") {
		words = strings.Fields(args)
	}
	return strings.NewReplacer("NAME", name, "ARGS", strings.Join(words, ", ")).Replace(app)
}

// runPod starts a pod that nobody replaces.
func (n *node) runPod(namespace, name, args string) {
	n.Helper()
	n.apply(namespace, "apiVersion: v1\nkind: Pod"+strings.Replace(pod(name, args), "metadata: {", "metadata: {name: "+name+", ", 1))
}

// deploy starts a pod that is replaced whatever becomes of it.
func (n *node) deploy(namespace, name, args string) {
	n.Helper()
	n.apply(namespace, `apiVersion: apps/v1
kind: Deployment
metadata: {name: `+name+`}
spec:
  selector: {matchLabels: {app: `+name+`}}
  template:`+strings.ReplaceAll(pod(name, args), "\n", "\n    "))
}

// apply has the API server take the text's objects.
func (n *node) apply(namespace, text string) {
	n.Helper()
	n.applied(text, "--namespace", namespace)
}

// applied is kubectl's output for the text's objects.
func (n *node) applied(text string, args ...string) string {
	n.Helper()
	return n.kubectl(append([]string{"apply", "-f", n.written(text)}, args...)...)
}

// written is a file with the text, until the next one is written.
func (n *node) written(text string) string {
	n.Helper()
	path := filepath.Join(runDir, "applied.yaml")
	n.must(os.WriteFile(path, []byte(text), 0o600))
	return path
}

// await waits until a Deployment's pod or a DaemonSet's is the new one, and ready.
func (n *node) await(namespace, what string) {
	n.Helper()
	n.kubectl("-n", namespace, "rollout", "status", what, "--timeout="+long.String())
}

// awaitPod waits until the pod is ready.
func (n *node) awaitPod(namespace, name string) {
	n.Helper()
	n.kubectl("-n", namespace, "wait", "--for=condition=Ready", "pod/"+name, "--timeout="+long.String())
}

// pods returns the names of pods with a label, without those that are terminating.
func (n *node) pods(namespace, label string) []string {
	n.Helper()
	return strings.Fields(n.kubectl("-n", namespace, "get", "pods", "-l", label, "-o",
		`go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{end}}{{end}}`))
}

// awaitGone waits until the pod is gone.
func (n *node) awaitGone(namespace, name string) {
	n.Helper()
	n.kubectl("-n", namespace, "wait", "--for=delete", "pod/"+name, "--timeout="+long.String())
}
