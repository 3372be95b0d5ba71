package manifests

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/flakeward/flakeward/internal/must"
)

const (
	base = "resources: [../kubernetes/base]\n"
	// coord is the one of the base's settings.
	coord = "settings: {coord: 'etcd://etcd.etcd.svc:2379/flakeward'}\n"
	all   = base + `components:
  - ../kubernetes/components/coordinator-tls
  - ../kubernetes/components/monitoring
  - ../kubernetes/components/network-policy
namespace: flakeward
`
	// withEtcd has an etcd of its own, and allEtcd the other parts besides, with TLS between them.
	withEtcd = base + `components: [../kubernetes/components/etcd]
namespace: flakeward
`
	allEtcd = base + `components:
  - ../kubernetes/components/etcd
  - ../kubernetes/components/etcd-tls
  - ../kubernetes/components/coordinator-tls
  - ../kubernetes/components/monitoring
  - ../kubernetes/components/network-policy
namespace: flakeward
`
	everything = coord + `coordinatorTLS: {secret: flakeward-coordinator}
monitoring: {enabled: true}
networkPolicy: {enabled: true}
`
	chartEtcd     = "etcd: {enabled: true}\n"
	everythingTLS = `etcd: {enabled: true, tlsSecret: flakeward-etcd}
coordinatorTLS: {secret: flakeward-coordinator}
monitoring: {enabled: true}
networkPolicy: {enabled: true}
`
)

// helmLabels are what only the chart adds.
var helmLabels = []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "helm.sh/chart"}

// comparable returns the objects by kind and name, without what tells an overlay from the chart:
// Helm's labels, how each has a change of the settings make a new pod, and labels of the whole.
func comparable(t *testing.T, all []object) map[string]any {
	t.Helper()
	by := map[string]any{}
	for _, o := range all {
		if o.kind() == "Namespace" || o.meta("annotations")["helm.sh/hook"] != nil { // Helm makes the one, or who calls Helm; a hook is Helm's alone
			continue
		}
		for _, l := range helmLabels {
			delete(o.meta("labels"), l)
		}
		delete(o.meta("labels"), "app.kubernetes.io/part-of")
		name := o.name()
		switch o.kind() {
		case "ConfigMap":
			name = "flakeward"
			text := as[core.ConfigMap](t, o).Data["flakeward.yaml"]
			var settings map[string]any
			must.Do(t, yaml.UnmarshalStrict([]byte(text), &settings))
			by["ConfigMap "+name] = settings
			continue
		case "DaemonSet":
			d := as[apps.DaemonSet](t, o)
			delete(d.Spec.Template.Annotations, "checksum/settings")
			if len(d.Spec.Template.Annotations) == 0 {
				d.Spec.Template.Annotations = nil
			}
			for i, v := range d.Spec.Template.Spec.Volumes {
				if v.ConfigMap != nil && strings.HasPrefix(v.ConfigMap.Name, "flakeward-") {
					d.Spec.Template.Spec.Volumes[i].ConfigMap.Name = "flakeward"
				}
			}
			slices.SortFunc(d.Spec.Template.Spec.Volumes, func(a, b core.Volume) int { return strings.Compare(a.Name, b.Name) })
			for _, l := range helmLabels {
				delete(d.Labels, l)
			}
			c := &d.Spec.Template.Spec.Containers[0]
			slices.SortFunc(c.VolumeMounts, func(a, b core.VolumeMount) int { return strings.Compare(a.Name, b.Name) })
			if len(d.Labels) == 0 {
				d.Labels = nil
			}
			by["DaemonSet "+name] = d
			continue
		}
		if o.kind() == "StatefulSet" { // kustomize has its own order of variables
			set := as[apps.StatefulSet](t, o)
			env := set.Spec.Template.Spec.Containers[0].Env
			slices.SortFunc(env, func(a, b core.EnvVar) int { return strings.Compare(a.Name, b.Name) })
			by["StatefulSet "+name] = set
			continue
		}
		by[o.kind()+" "+name] = o
	}
	return by
}

// The chart with its defaults is the base, and with all parts the base with all components.
func TestTheChartIsTheBase(t *testing.T) {
	for _, c := range []struct{ name, kustomization, values string }{
		{"default", base, coord},
		{"all parts", all, everything},
		{"an etcd of its own", withEtcd, chartEtcd},
		{"an etcd of its own and all parts", allEtcd, everythingTLS},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, got := comparable(t, build(t, c.kustomization, nil)), comparable(t, chart(t, c.values))
			for name, w := range want {
				g, ok := got[name]
				if !ok {
					t.Errorf("the chart has no %s", name)
					continue
				}
				if !reflect.DeepEqual(w, g) {
					a, _ := yaml.Marshal(w)
					b, _ := yaml.Marshal(g)
					t.Errorf("%s differs: kustomize has\n%s\nand the chart\n%s", name, a, b)
				}
				delete(got, name)
			}
			for name := range got {
				t.Errorf("the chart alone has %s", name)
			}
		})
	}
}

// The rules are the mixin's.
func TestTheRulesAreTheMixins(t *testing.T) {
	var want ruleGroups
	for _, name := range []string{"rules.yaml", "alerts.yaml"} {
		text := must.Get(os.ReadFile(filepath.Join("..", "..", "deploy", "mixin", "rendered", name)))(t)
		var part ruleGroups
		must.Do(t, yaml.UnmarshalStrict(text, &part))
		want.Groups = append(want.Groups, part.Groups...)
	}
	for from, objects := range map[string][]object{"kustomize": build(t, all, nil), "the chart": chart(t, everything)} {
		got := as[prometheusRule](t, find(t, objects, "PrometheusRule", "flakeward"))
		if !reflect.DeepEqual(got.Spec, want) {
			t.Errorf("the PrometheusRule of %s is not deploy/mixin/rendered: run make generate", from)
		}
	}
}

// A field or a kind that Kubernetes does not know is found.
func TestUnknownFieldsAreFound(t *testing.T) {
	for name, text := range map[string]string{
		"field":       "apiVersion: apps/v1\nkind: DaemonSet\nspec: {template: {spec: {priorityClass: x}}}\n",
		"type":        "apiVersion: apps/v1\nkind: DaemonSet\nspec: {minReadySeconds: soon}\n",
		"kind":        "apiVersion: apps/v1\nkind: DeamonSet\n",
		"PodMonitor":  "apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\nspec: {endpoints: []}\n",
		"twice given": "apiVersion: apps/v1\nkind: DaemonSet\nkind: DaemonSet\n",
	} {
		objects, err := parse([]byte(text))
		for _, o := range objects {
			err = check(o)
		}
		if err == nil {
			t.Errorf("%s: nothing is found", name)
		}
	}
}

// The chart names both ways to give a coordinator if none is given, and wants one alone, with TLS on
// both sides of it or on neither.
func TestTheChartWantsOneCoordinator(t *testing.T) {
	for values, wants := range map[string][]string{
		"":                {"settings.coord=etcd://", "settings.coord=zk://", "etcd.enabled=true"},
		coord + chartEtcd: {"settings.coord and etcd.enabled"},
		"etcd: {enabled: true, tlsSecret: flakeward-etcd}\n":          {"coordinatorTLS.secret"},
		chartEtcd + "coordinatorTLS: {secret: flakeward-coordinator}": {"etcd.tlsSecret"},
	} {
		_, err := template(values)
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: the error is %v, want %q in it", values, err, want)
			}
		}
	}
}

// The chart's schema refuses what would give equal IDs, or take the ground from under the
// manifests.
func TestTheSchemaRefuses(t *testing.T) {
	for values, want := range map[string]string{
		"settings: {coord: 'dir:'}":                                    "coord",
		coord + "setings: {}":                                          "setings",
		"settings: {coord: 'zk://h', takeover: false}":                 "takeover",
		coord + "daemon: {resources: {limits: {memory: 1Gi, cpu: 1}}}": "cpu",
		coord + "networkPolicy: {port: 70000}":                         "port",
		coord + "affinity: {}":                                         "affinity",
		coord + "daemon: {podLabels: {app.kubernetes.io/name: other}}": "podLabels",
		coord + "daemon: {podAnnotations: {checksum/settings: mine}}":  "podAnnotations",
		chartEtcd + "daemon: {extraVolumes: [{secret: {}}]}":           "name",
		"etcd: {enabled: true, replicas: 5}":                           "replicas",
	} {
		if _, err := template(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q in it", values, err, want)
		}
	}
}
