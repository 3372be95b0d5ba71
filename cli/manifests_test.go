package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

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

// With the component etcd the daemon gets its coordinator by a variable, beside settings that name none.
func TestTheComponentEtcdNamesTheCoordinator(t *testing.T) {
	dir := filepath.Join("..", "deploy", "kubernetes", "components", "etcd")
	text := must.Get(os.ReadFile(filepath.Join(dir, "kustomization.yaml")))(t)
	m := regexp.MustCompile(`name: FLAKEWARD_COORD\n +value: ("(?s:.*?)")\n`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("there is no FLAKEWARD_COORD:\n%s", text)
	}
	var coord string
	must.Do(t, yaml.Unmarshal(m[1], &coord))
	args := []string{"--config=" + filepath.Join(dir, "flakeward.yaml"), "--require-coord"}
	if _, err := configOf(t, args...); err == nil {
		t.Error("the settings name a coordinator, too")
	}
	t.Setenv("FLAKEWARD_COORD", coord)
	if _, err := configOf(t, args...); err != nil {
		t.Errorf("FLAKEWARD_COORD=%s: %v", coord, err)
	}
}

// Each daemon of compose.yaml is told which machine it runs on, by a file of the host's that is
// mounted where the daemon looks for it. Without one it is told so by a file that is no identity.
func TestComposeHandsEachDaemonTheMachinesIdentity(t *testing.T) {
	text := must.Get(os.ReadFile(filepath.Join("..", "deploy", "compose.yaml")))(t)
	var file struct {
		Services map[string]struct {
			Command     any
			Environment map[string]string
			Volumes     []string
		}
	}
	must.Do(t, yaml.Unmarshal(text, &file))
	daemons := 0
	for name, s := range file.Services {
		if !slices.Equal(argumentsOf(s.Command), []string{"daemon"}) {
			continue
		}
		daemons++
		at := s.Environment["FLAKEWARD_MACHINE_IDENTITY"]
		if want := "${MACHINE_IDENTITY:-/dev/null}:" + at + ":ro"; at == "" || !slices.Contains(s.Volumes, want) {
			t.Errorf("%s looks for the machine's identity at %q and has the volumes %q, want %q", name, at, s.Volumes, want)
		}
	}
	if daemons < 3 {
		t.Errorf("compose.yaml has %d daemons", daemons)
	}
}

func argumentsOf(command any) (all []string) {
	list, _ := command.([]any)
	for _, a := range list {
		text, _ := a.(string)
		all = append(all, text)
	}
	return all
}
