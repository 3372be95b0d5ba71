package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// argument is one line of a container's args in YAML.
var argument = regexp.MustCompile(`(?m)^ +- (--[a-z-]+)(=.*)?$`)

// Each argument that the manifests for Kubernetes give the daemon is one of its settings, and with
// them an embedded coordinator is refused.
func TestTheManifestsArgumentsAreSettings(t *testing.T) {
	for _, path := range []string{"base/daemon.yaml", "components/sidecar/sidecar.yaml"} {
		text := must.Get(os.ReadFile(filepath.Join("..", "deploy", "kubernetes", path)))(t)
		var args []string
		for _, m := range argument.FindAllStringSubmatch(string(text), -1) {
			switch m[1] {
			case "--config":
				m[2] = "=../deploy/kubernetes/base/flakeward.yaml"
			case "--pod-sockets":
				if !slices.Contains(settingNames(), "pod-sockets") {
					continue
				}
			}
			args = append(args, m[1]+m[2])
		}
		if len(args) < 6 {
			t.Fatalf("%s: only %q are found", path, args)
		}
		if _, err := configOf(t, args...); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := configOf(t, append(args, "--coord=embedded:")...); err == nil || !strings.Contains(err.Error(), "--require-coord") {
			t.Errorf("%s: an embedded coordinator: %v", path, err)
		}
	}
}
