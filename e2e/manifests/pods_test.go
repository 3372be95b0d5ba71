package manifests

import (
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
)

const (
	sidecar = `resources: [app.yaml]
components: [../kubernetes/components/sidecar]
`
	app = `apiVersion: apps/v1
kind: Deployment
metadata: {name: app, labels: {flakeward.dev/sidecar: "true"}}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
        - {name: app, image: app, volumeMounts: [{name: flakeward, mountPath: /run/flakeward}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other}
spec:
  selector: {matchLabels: {app: other}}
  template:
    metadata: {labels: {app: other}}
    spec: {containers: [{name: other, image: other}]}
`
)

// The daemon's pod has what a takeover needs, no token, no limit of cpu, and no right that it can
// do without. The API server is told of no role. The chart has the same objects.
func TestTheDaemonsPod(t *testing.T) {
	objects := build(t, all, nil)
	for _, o := range objects {
		if strings.Contains(o.kind(), "Role") || o.kind() == "ServiceAccount" {
			t.Errorf("%s %s gives rights", o.kind(), o.name())
		}
	}
	d := as[apps.DaemonSet](t, find(t, objects, "DaemonSet", "flakeward"))
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	u := d.Spec.UpdateStrategy.RollingUpdate
	if u.MaxSurge.IntValue() != 1 || u.MaxUnavailable.IntValue() != 0 {
		t.Errorf("updates are by %v, not by surge", u)
	}
	for _, want := range []string{"--takeover", "--takeover-stay", "--require-coord", "--host=$(NODE_NAME)"} {
		if !slices.Contains(c.Args, want) {
			t.Errorf("the daemon's arguments %q are without %s", c.Args, want)
		}
	}
	if path := "/run/flakeward"; !slices.ContainsFunc(c.VolumeMounts, func(m core.VolumeMount) bool {
		return m.MountPath == path && slices.ContainsFunc(pod.Volumes, func(v core.Volume) bool {
			return v.Name == m.Name && v.HostPath != nil && v.HostPath.Path == path
		})
	}) {
		t.Errorf("%s is not the node's", path)
	}
	if *pod.AutomountServiceAccountToken || pod.HostNetwork || pod.HostPID || pod.HostIPC {
		t.Error("the pod has a token, or a namespace of the node")
	}
	if _, limited := c.Resources.Limits[core.ResourceCPU]; limited || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("the limits are %v", c.Resources.Limits)
	}
	s := c.SecurityContext
	if s.Privileged != nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) || s.Capabilities.Add != nil {
		t.Errorf("the security context is %v", s)
	}
	if live := c.LivenessProbe.Exec; live == nil || !slices.Contains(live.Command, "--live") {
		t.Errorf("liveness is by %v, which the coordinator can fail", c.LivenessProbe)
	}
}

// The sidecar's container passes the restricted level, and is in the pods that ask for it alone.
func TestTheSidecar(t *testing.T) {
	objects := build(t, sidecar, map[string]string{"app.yaml": app})
	if other := as[apps.Deployment](t, find(t, objects, "Deployment", "other")); len(other.Spec.Template.Spec.InitContainers) != 0 {
		t.Error("a pod that does not ask for a sidecar has one")
	}
	pod := as[apps.Deployment](t, find(t, objects, "Deployment", "app")).Spec.Template.Spec
	if len(pod.InitContainers) != 1 || len(pod.Containers) != 1 || pod.Containers[0].Name != "app" {
		t.Fatalf("the pod is %v", pod)
	}
	c := pod.InitContainers[0]
	if c.RestartPolicy == nil || *c.RestartPolicy != core.ContainerRestartPolicyAlways || c.StartupProbe == nil {
		t.Error("the sidecar is an ordinary init container, or the application does not wait for it")
	}
	if !slices.Contains(c.Args, "--require-coord") {
		t.Error("a directory is not refused")
	}
	for _, v := range pod.Volumes {
		if v.HostPath != nil {
			t.Errorf("volume %s is the node's", v.Name)
		}
	}
	s := c.SecurityContext
	if !*s.RunAsNonRoot || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the security context is %v", s)
	}
}
