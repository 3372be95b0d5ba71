package manifests

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	batch "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"

	"github.com/flakeward/flakeward/internal/must"
)

// The cluster is made by an install, as a hook, which no rollback repeats, and never by an upgrade:
// where the coordinator's volumes were lost, an upgrade makes no second cluster. It begins at once
// only where a value says so.
func TestAClusterIsMadeByAnInstallAlone(t *testing.T) {
	for _, c := range []struct {
		name, values string
		release      chartutil.ReleaseOptions
		made, empty  bool
	}{
		{"install", coord, chartutil.ReleaseOptions{IsInstall: true}, true, false},
		{"install of an empty one", coord + "cluster: {empty: true}\n", chartutil.ReleaseOptions{IsInstall: true}, true, true},
		{"install with all parts", everythingTLS, chartutil.ReleaseOptions{IsInstall: true}, true, false},
		{"install without", coord + "cluster: {create: false}\n", chartutil.ReleaseOptions{IsInstall: true}, false, false},
		{"upgrade", coord, chartutil.ReleaseOptions{IsUpgrade: true, Revision: 2}, false, false},
		{"upgrade of an empty one", coord + "cluster: {empty: true}\n", chartutil.ReleaseOptions{IsUpgrade: true, Revision: 2}, false, false},
		{"upgrade with all parts", everythingTLS, chartutil.ReleaseOptions{IsUpgrade: true, Revision: 2}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var given map[string]any
			must.Do(t, yaml.UnmarshalStrict([]byte(c.values), &given))
			jobs := 0
			for _, o := range checked(t, joined(must.Get(renderedFor(c.release, given))(t))) {
				if o.kind() != "Job" {
					continue
				}
				jobs++
				job := as[batch.Job](t, o)
				want := "pre-install"
				if strings.Contains(c.values, "etcd: {") { // which has to be there
					want = "post-install"
				}
				if hook := job.Annotations["helm.sh/hook"]; hook != want {
					t.Errorf("the job %s is a hook of %q", job.Name, hook)
				}
				args := job.Spec.Template.Spec.Containers[0].Args
				if args[0] != "cluster" || args[1] != "create" || slices.Contains(args, "--empty") != c.empty {
					t.Errorf("the job runs %q", args)
				}
			}
			if want := map[bool]int{true: 1}[c.made]; jobs != want {
				t.Errorf("%d jobs, want %d", jobs, want)
			}
		})
	}
}
