package manifests

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

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

// unlike are labels of objects that tell an overlay from the chart: Helm's, and those of the whole.
var unlike = []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "helm.sh/chart", "app.kubernetes.io/part-of"}

// comparable returns the objects by kind and name, without what tells an overlay from the chart.
func comparable(t *testing.T, all []object) map[string]any {
	t.Helper()
	by := map[string]any{}
	for _, o := range all {
		if o.kind() == "Namespace" || o.meta("annotations")["helm.sh/hook"] != nil { // Helm makes the one, or who calls Helm; a hook is Helm's alone
			continue
		}
		for _, label := range unlike {
			delete(o.meta("labels"), label)
		}
		if o.kind() == "ConfigMap" {
			var settings map[string]any
			must.Do(t, yaml.UnmarshalStrict([]byte(as[core.ConfigMap](t, o).Data["flakeward.yaml"]), &settings))
			by["ConfigMap"] = settings
			continue
		}
		by[o.kind()+" "+o.name()] = plain(map[string]any(o))
	}
	return by
}

// plain is a part of an object without how an overlay or the chart has a change of the settings
// make a new pod, and with what has names in their order.
func plain(part any) any {
	name := func(part any) string {
		m, _ := part.(map[string]any)
		return fmt.Sprint(m["name"])
	}
	switch part := part.(type) {
	case map[string]any:
		delete(part, "checksum/settings")
		for key, value := range part {
			part[key] = plain(value)
			if m, ok := value.(map[string]any); ok && len(m) == 0 && (key == "labels" || key == "annotations") {
				delete(part, key)
			}
			if key == "configMap" && strings.HasPrefix(name(value), "flakeward-") {
				value.(map[string]any)["name"] = "flakeward"
			}
		}
	case []any:
		for i := range part {
			part[i] = plain(part[i])
		}
		slices.SortStableFunc(part, func(a, b any) int { return strings.Compare(name(a), name(b)) })
	}
	return part
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
	var want []any
	for _, name := range []string{"rules.yaml", "alerts.yaml"} {
		var part struct{ Groups []any }
		must.Do(t, yaml.UnmarshalStrict(must.Get(os.ReadFile(filepath.Join("..", "..", "deploy", "mixin", "rendered", name)))(t), &part))
		want = append(want, part.Groups...)
	}
	got := find(t, build(t, all, nil), "PrometheusRule", "flakeward")
	if !reflect.DeepEqual(got["spec"], map[string]any{"groups": want}) {
		t.Error("the PrometheusRule is not deploy/mixin/rendered: run make generate")
	}
}

// A field or a kind that Kubernetes does not know is found.
func TestUnknownFieldsAreFound(t *testing.T) {
	for name, text := range map[string]string{
		"field":       "apiVersion: apps/v1\nkind: DaemonSet\nspec: {template: {spec: {priorityClass: x}}}\n",
		"type":        "apiVersion: apps/v1\nkind: DaemonSet\nspec: {minReadySeconds: soon}\n",
		"kind":        "apiVersion: apps/v1\nkind: DeamonSet\n",
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

// The chart names both ways to give a coordinator if none is given, and wants one alone, with TLS
// on both sides of it or on neither.
func TestTheChartWantsOneCoordinator(t *testing.T) {
	for values, wants := range map[string][]string{
		"":                {"settings.coord=etcd://", "settings.coord=zk://", "etcd.enabled=true"},
		coord + chartEtcd: {"settings.coord and etcd.enabled"},
		"etcd: {enabled: true, tlsSecret: flakeward-etcd}\n":          {"coordinatorTLS.secret"},
		chartEtcd + "coordinatorTLS: {secret: flakeward-coordinator}": {"etcd.tlsSecret"},
	} {
		_, err := rendered(values)
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
		if _, err := rendered(values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: the error is %v, want %q in it", values, err, want)
		}
	}
}
