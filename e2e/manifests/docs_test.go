package manifests

import (
	"os"
	"regexp"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"

	"github.com/flakeward/flakeward/internal/must"
)

// overlays are the documented ones.
var overlays = regexp.MustCompile("(?s)```yaml\n# kustomization.yaml\n(.*?)```")

// The overlays that docs/kubernetes.md shows can be built, with settings of one's own.
func TestTheDocumentedOverlays(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/kubernetes.md"))(t)
	found := overlays.FindAllStringSubmatch(string(text), -1)
	if len(found) != 3 {
		t.Fatalf("%d overlays are found, want 3", len(found))
	}
	files := map[string]string{"app.yaml": app, "flakeward.yaml": "coord: zk://zk:2181/ids\n"}
	for i, m := range found {
		objects := build(t, strings.ReplaceAll(m[1], "../deploy/", "../"), files)
		settings, pods := 0, []core.PodSpec{}
		for _, o := range objects {
			switch o.kind() {
			case "ConfigMap":
				settings++
				want := files["flakeward.yaml"]
				if strings.Contains(m[1], "components/etcd\n") {
					want = string(must.Get(os.ReadFile("../../deploy/kubernetes/components/etcd/flakeward.yaml"))(t))
				}
				if c := as[core.ConfigMap](t, o); c.Data["flakeward.yaml"] != want {
					t.Errorf("overlay %d: the settings are %q", i, c.Data)
				}
			case "DaemonSet":
				pods = append(pods, as[apps.DaemonSet](t, o).Spec.Template.Spec)
				if image := pods[len(pods)-1].Containers[0].Image; image != "registry.example/"+o.name()+":0.1.0" {
					t.Errorf("overlay %d: the image is %s", i, image)
				}
			}
		}
		if settings != 1 {
			t.Errorf("overlay %d has the settings %d times", i, settings)
		}
	}
}
