package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/flakeward/flakeward/internal/must"
)

// argument is one line of a container's args in YAML.
var argument = regexp.MustCompile(`(?m)^ +- (--[a-z-]+)(=.*)?$`)

// Each argument that the manifests for Kubernetes give the daemon is one of its settings, and with
// them a directory is refused.
func TestTheManifestsArgumentsAreSettings(t *testing.T) {
	for _, path := range []string{"base/daemon.yaml", "components/sidecar/sidecar.yaml"} {
		text := must.Get(os.ReadFile(filepath.Join("..", "deploy", "kubernetes", path)))(t)
		var args []string
		for _, m := range argument.FindAllStringSubmatch(string(text), -1) {
			if m[1] == "--config" {
				m[2] = "=../deploy/kubernetes/base/flakeward.yaml"
			}
			args = append(args, m[1]+m[2])
		}
		if len(args) < 5 {
			t.Fatalf("%s: only %q are found", path, args)
		}
		if _, err := configOf(t, args...); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := configOf(t, append(args, "--coord=dir:/x")...); err == nil || !strings.Contains(err.Error(), "--require-coord") {
			t.Errorf("%s: a directory: %v", path, err)
		}
	}
}

// composed is a service of a compose file.
type composed struct {
	Command     any
	Extends     struct{ File, Service string }
	Environment map[string]string
	Volumes     []string
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck any
}

func composeFile(t *testing.T, name string) map[string]composed {
	t.Helper()
	var file struct{ Services map[string]composed }
	must.Do(t, yaml.Unmarshal(must.Get(os.ReadFile(filepath.Join("..", "deploy", name)))(t), &file))
	return file.Services
}

// A daemon that starts before its coordinator warns that it cannot join, and one that stops after
// it cannot release its worker ID. So compose starts each daemon of its files after all members,
// when they serve, and stops it before them.
func TestComposeStartsDaemonsAfterTheirCoordinatorAndStopsThemBefore(t *testing.T) {
	for _, name := range []string{"compose.yaml", "compose.zookeeper.yaml"} {
		all := composeFile(t, name)
		for _, daemon := range []string{"daemon-1", "daemon-2", "daemon-3"} {
			s := all[daemon]
			if s.Extends.File != "compose.host.yaml" || s.Extends.Service != "daemon" {
				t.Errorf("%s: %s extends %+v", name, daemon, s.Extends)
			}
			coord := s.Environment["FLAKEWARD_COORD"]
			_, servers, _ := strings.Cut(coord, "://")
			servers, _, _ = strings.Cut(servers, "/")
			members := strings.Split(servers, ",")
			if len(members) != 3 {
				t.Errorf("%s: %s has the coordinator %q, want three members", name, daemon, coord)
			}
			for _, member := range members {
				member, _, _ = strings.Cut(member, ":")
				if s.DependsOn[member].Condition != "service_healthy" || all[member].Healthcheck == nil {
					t.Errorf("%s: %s has %q in its coordinator and does not wait until it is healthy: it depends on %v", name, daemon, member, s.DependsOn)
				}
			}
		}
	}
}
