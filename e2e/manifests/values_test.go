package manifests

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flakeward/flakeward/internal/must"
)

// What a platform team sets for the pods of all its charts.
const platform = `daemon:
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [apps]}]}]}}}
  nodeSelector: {pool: apps}
  tolerations: [{key: dedicated, operator: Exists}]
  priorityClassName: platform
  hostPID: true
  podLabels: {team: ids}
  podAnnotations: {scrape: "no"}
  podSecurityContext: {seLinuxOptions: {type: spc_t}}
  securityContext: {seLinuxOptions: {level: "s0:c1,c2"}}
  resources: {limits: {memory: 512Mi}}
  extraVolumes: [{name: password, secret: {secretName: etcd-user}}]
  extraVolumeMounts: [{name: password, mountPath: /etc/password}]
  extraEnv: [{name: TZ, value: UTC}]
image: {pullSecrets: [{name: registry}]}
etcd:
  affinity: {podAffinity: {}}
  nodeSelector: {pool: etcd}
  tolerations: [{key: etcd, operator: Exists}]
  priorityClassName: high
  podLabels: {team: data}
  podAnnotations: {scrape: "yes"}
  podSecurityContext: {seLinuxOptions: {level: s0}}
  securityContext: {seLinuxOptions: {level: s0}}
  image: {repository: registry.example/etcd, tag: v1}
  storage: {size: 9Gi, className: fast}
`

// wantJSON wants a value to be that of the text, by its fields.
func wantJSON(t *testing.T, what string, got any, want string) {
	t.Helper()
	if text := string(must.Get(json.Marshal(got))(t)); text != want {
		t.Errorf("%s: %s, want %s", what, text, want)
	}
}

// What platform teams set reaches the pods, beside what the chart needs itself.
func TestPlatformValuesReachThePods(t *testing.T) {
	objects := chart(t, platform+"  enabled: true\n")
	daemon := as[apps.DaemonSet](t, find(t, objects, "DaemonSet", "flakeward")).Spec.Template
	csi := as[apps.DaemonSet](t, find(t, objects, "DaemonSet", "flakeward-csi")).Spec.Template
	etcd := as[apps.StatefulSet](t, find(t, objects, "StatefulSet", "flakeward-etcd")).Spec
	for name, pod := range map[string]core.PodTemplateSpec{"daemon": daemon, "csi": csi} {
		if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
			t.Errorf("%s has no affinity", name)
		}
		wantJSON(t, name, pod.Spec.NodeSelector, `{"kubernetes.io/os":"linux","pool":"apps"}`)
		wantJSON(t, name, pod.Spec.Tolerations, `[{"key":"dedicated","operator":"Exists"}]`)
		wantJSON(t, name, pod.Spec.ImagePullSecrets, `[{"name":"registry"}]`)
		wantJSON(t, name, pod.Spec.PriorityClassName, `"platform"`)
		wantJSON(t, name, pod.Labels, `{"app.kubernetes.io/component":"`+name+`","app.kubernetes.io/name":"flakeward","team":"ids"}`)
		wantJSON(t, name, pod.Annotations["scrape"], `"no"`)
	}
	if daemon.Annotations["checksum/settings"] == "" {
		t.Error("a change of the settings makes no new pod")
	}
	if !daemon.Spec.HostPID {
		t.Error("the daemon does not see the pods' processes")
	}
	c := daemon.Spec.Containers[0]
	wantJSON(t, "daemon", daemon.Spec.SecurityContext, `{"seLinuxOptions":{"type":"spc_t"},"runAsUser":0,"runAsGroup":0,"seccompProfile":{"type":"RuntimeDefault"}}`)
	wantJSON(t, "daemon", c.SecurityContext.SELinuxOptions, `{"level":"s0:c1,c2"}`)
	wantJSON(t, "daemon", c.SecurityContext.Capabilities, `{"drop":["ALL"]}`)
	wantJSON(t, "daemon", c.Resources.Limits, `{"memory":"512Mi"}`)
	wantJSON(t, "daemon", c.Env[len(c.Env)-1], `{"name":"TZ","value":"UTC"}`)
	wantJSON(t, "daemon", c.VolumeMounts[len(c.VolumeMounts)-1], `{"name":"password","mountPath":"/etc/password"}`)
	wantJSON(t, "daemon", daemon.Spec.Volumes[len(daemon.Spec.Volumes)-1], `{"name":"password","secret":{"secretName":"etcd-user"}}`)
	pod := etcd.Template.Spec
	if pod.Affinity.PodAffinity == nil {
		t.Error("etcd has no affinity of the values")
	}
	wantJSON(t, "etcd", pod.NodeSelector, `{"kubernetes.io/os":"linux","pool":"etcd"}`)
	wantJSON(t, "etcd", pod.Tolerations, `[{"key":"etcd","operator":"Exists"}]`)
	wantJSON(t, "etcd", pod.ImagePullSecrets, `[{"name":"registry"}]`)
	wantJSON(t, "etcd", pod.PriorityClassName, `"high"`)
	wantJSON(t, "etcd", etcd.Template.Labels, `{"app.kubernetes.io/component":"etcd","app.kubernetes.io/name":"flakeward","team":"data"}`)
	wantJSON(t, "etcd", etcd.Template.Annotations, `{"scrape":"yes"}`)
	wantJSON(t, "etcd", pod.SecurityContext.SELinuxOptions, `{"level":"s0"}`)
	wantJSON(t, "etcd", pod.Containers[0].SecurityContext.SELinuxOptions, `{"level":"s0"}`)
	wantJSON(t, "etcd", pod.Containers[0].Image, `"registry.example/etcd:v1"`)
	wantJSON(t, "etcd", etcd.VolumeClaimTemplates[0].Spec.StorageClassName, `"fast"`)
	wantJSON(t, "etcd", etcd.VolumeClaimTemplates[0].Spec.Resources.Requests, `{"storage":"9Gi"}`)
}

// The notes name the coordinator without its password, and what to do next.
func TestTheNotes(t *testing.T) {
	for values, wants := range map[string][]string{
		"settings: {coord: 'etcd://me:secret@h:2379/ids'}": {"Its coordinator is etcd://h:2379/ids.", "rollout status daemonset/flakeward", "csi.flakeward.dev"},
		chartEtcd:                               {"the etcd of this release", "--endpoints http://localhost:2379 snapshot save", "stay after helm uninstall"},
		everythingTLS + "csi: {enabled: false}": {"--endpoints https://localhost:2379"},
	} {
		text := must.Get(rendered(values))(t)[notes]
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%q: the notes are\n%s\nwithout %q", values, text, want)
			}
		}
		if strings.Contains(text, "secret") || strings.Contains(text, "no value") || strings.Contains(text, "csi.flakeward.dev") != !strings.Contains(values, "csi:") {
			t.Errorf("%q: the notes are\n%s", values, text)
		}
	}
}

// A name may consist of digits, and is text all the same.
func TestNamesOfDigitsStayText(t *testing.T) {
	files := must.Get(rendered("daemon: {priorityClassName: \"12\"}\ncoordinatorTLS: {secret: \"34\"}\n" +
		"etcd: {enabled: true, tlsSecret: \"56\", priorityClassName: \"78\", storage: {className: \"1e3\"}}\n"))(t)
	text := files["flakeward/templates/daemon.yaml"] + files["flakeward/templates/csi.yaml"] + files["flakeward/templates/etcd.yaml"]
	for field, n := range map[string]int{
		`priorityClassName: "12"`: 2, `secretName: "34"`: 1, `secretName: "56"`: 1, `priorityClassName: "78"`: 1, `storageClassName: "1e3"`: 1,
	} {
		if found := strings.Count(text, field); found != n {
			t.Errorf("%s is rendered %d times, want %d", field, found, n)
		}
	}
}

// Each text of the values arrives as it is, whatever it means in YAML.
func TestEachTextIsQuoted(t *testing.T) {
	const text = `/a: "x" #'{`
	tried := 0
	for _, path := range texts(must.Get(chartutil.ReadValuesFile("../../deploy/helm/flakeward/values.yaml"))(t), nil) {
		name := strings.Join(path, ".")
		if name == "image.pullPolicy" || name == "settings.coord" { // of three texts, and a part of another file
			continue
		}
		t.Run(name, func(t *testing.T) {
			tried++
			values := map[string]any{
				"settings": map[string]any{}, "monitoring": map[string]any{"enabled": true}, "networkPolicy": map[string]any{"enabled": true},
				"etcd": map[string]any{"enabled": true, "tlsSecret": "s"}, "coordinatorTLS": map[string]any{"secret": "s"},
			}
			must.Do(t, unstructured.SetNestedField(values, text, path...))
			objects := must.Get(parse(joined(must.Get(renderedFor(chartutil.ReleaseOptions{IsInstall: true}, values))(t))))(t)
			if quoted := must.Get(json.Marshal(text))(t); !bytes.Contains(must.Get(json.Marshal(objects))(t), quoted[1:len(quoted)-1]) {
				t.Errorf("%q is in no object", text)
			}
		})
	}
	if tried < 20 {
		t.Errorf("%d texts were tried; the case is void", tried)
	}
}

// texts are the paths of the values that are texts, but in lists.
func texts(values map[string]any, at []string) (paths [][]string) {
	for name, value := range values {
		path := append(slices.Clone(at), name)
		switch value := value.(type) {
		case string:
			paths = append(paths, path)
		case map[string]any:
			paths = append(paths, texts(value, path)...)
		}
	}
	return paths
}
