package manifests

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	storage "k8s.io/api/storage/v1"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/flakeward/flakeward/internal/must"
)

// object is one as it is rendered.
type object map[string]any

func (o object) kind() string { return fmt.Sprint(o["kind"]) }

func (o object) meta(field string) map[string]any {
	m, _ := o["metadata"].(map[string]any)
	f, _ := m[field].(map[string]any)
	return f
}

func (o object) name() string {
	m, _ := o["metadata"].(map[string]any)
	return fmt.Sprint(m["name"])
}

// typed decodes the object into a type, which has to know each of its fields.
func typed[T any](o object) (T, error) {
	var into T
	text, err := yaml.Marshal(o)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &into)
	}
	return into, err
}

// as is typed for an object that is right.
func as[T any](t *testing.T, o object) T {
	t.Helper()
	into, err := typed[T](o)
	if err != nil {
		t.Fatalf("%s %s: %v", o.kind(), o.name(), err)
	}
	return into
}

// types are the kinds that may be rendered.
var types = map[string]func(object) error{
	"v1 Namespace":                       is[core.Namespace],
	"v1 ConfigMap":                       is[core.ConfigMap],
	"v1 Service":                         is[core.Service],
	"policy/v1 PodDisruptionBudget":      is[policy.PodDisruptionBudget],
	"batch/v1 Job":                       is[batch.Job],
	"apps/v1 DaemonSet":                  is[apps.DaemonSet],
	"apps/v1 Deployment":                 is[apps.Deployment],
	"apps/v1 StatefulSet":                is[apps.StatefulSet],
	"storage.k8s.io/v1 CSIDriver":        is[storage.CSIDriver],
	"networking.k8s.io/v1 NetworkPolicy": is[networking.NetworkPolicy],
	// Of the Prometheus Operator's, e2e/kube asks a real API server.
	"monitoring.coreos.com/v1 PodMonitor":     is[map[string]any],
	"monitoring.coreos.com/v1 PrometheusRule": is[map[string]any],
}

func is[T any](o object) error {
	_, err := typed[T](o)
	return err
}

// check says what is wrong with an object: its kind or a field is unknown, or of another type.
func check(o object) error {
	known, ok := types[fmt.Sprint(o["apiVersion"], " ", o["kind"])]
	if !ok {
		return fmt.Errorf("unknown kind %v %v", o["apiVersion"], o["kind"])
	}
	return known(o)
}

// parse reads the documents of a stream.
func parse(text []byte) ([]object, error) {
	var all []object
	for r := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := r.Read()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var o object
		if err := yaml.UnmarshalStrict(document, &o); err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		if len(o) > 0 {
			all = append(all, o)
		}
	}
}

// checked is parse for objects that are right.
func checked(t *testing.T, text []byte) []object {
	t.Helper()
	all := must.Get(parse(text))(t)
	for _, o := range all {
		if err := check(o); err != nil {
			t.Errorf("%s %s: %v", o.kind(), o.name(), err)
		}
	}
	return all
}

// build renders an overlay that is given, with the project's directories beside it. Its base is a
// list of resources and components.
func build(t *testing.T, kustomization string, files map[string]string) []object {
	t.Helper()
	fs := filesys.MakeFsInMemory()
	onDisk := filesys.MakeFsOnDisk()
	must.Do(t, onDisk.Walk(filepath.Join("..", "..", "deploy", "kubernetes"), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := onDisk.ReadFile(path)
		if err != nil {
			return err
		}
		return fs.WriteFile("/"+filepath.ToSlash(strings.TrimPrefix(path, "../../deploy/")), text)
	}))
	for name, text := range files {
		must.Do(t, fs.WriteFile("/overlay/"+name, []byte(text)))
	}
	must.Do(t, fs.WriteFile("/overlay/kustomization.yaml", []byte(kustomization)))
	all := must.Get(krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, "/overlay"))(t)
	text := must.Get(all.AsYaml())(t)
	return checked(t, text)
}

// rendered is what the chart's templates give with values at an install, by their paths.
func rendered(values string) (map[string]string, error) {
	var given map[string]any
	if err := yaml.UnmarshalStrict([]byte(values), &given); err != nil {
		return nil, err
	}
	return renderedFor(chartutil.ReleaseOptions{IsInstall: true}, given)
}

// renderedFor is rendered for an install or an upgrade. The release has a name that is no text
// where it is not quoted.
func renderedFor(release chartutil.ReleaseOptions, given map[string]any) (map[string]string, error) {
	chart, err := loader.LoadDir(filepath.Join("..", "..", "deploy", "helm", "flakeward"))
	if err != nil {
		return nil, err
	}
	release.Name, release.Namespace = "7", "flakeward"
	all, err := chartutil.ToRenderValues(chart, given, release, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

const notes = "flakeward/templates/NOTES.txt"

// joined is one text of all objects that were rendered, as helm template prints it.
func joined(files map[string]string) []byte {
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != notes {
			fmt.Fprintf(&out, "---\n%s\n", files[name])
		}
	}
	return out.Bytes()
}

// chart has the chart's objects, with values that are right.
func chart(t *testing.T, values string) []object {
	t.Helper()
	return checked(t, joined(must.Get(rendered(values))(t)))
}

// find returns the one object of a kind and a name.
func find(t *testing.T, all []object, kind, name string) object {
	t.Helper()
	i := slices.IndexFunc(all, func(o object) bool { return o.kind() == kind && o.name() == name })
	if i < 0 {
		t.Fatalf("there is no %s %s", kind, name)
	}
	return all[i]
}
