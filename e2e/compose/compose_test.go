package compose_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/e2e/compose"
)

// fake puts a docker, and a docker-compose, on the PATH: shell scripts that note what they are
// asked for. It returns the notes.
func fake(t *testing.T, programs map[string]string) (notes func() []string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	for name, body := range programs {
		script := "#!/bin/sh\necho \"" + name + " $*\" >>" + log + "\n" + body + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	if len(programs) == 0 {
		t.Setenv("PATH", dir)
	}
	return func() []string {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

const withPlugin = `case "$1 $2" in "version --format") echo 28.0.1;; "compose version") echo v2.40.0;; esac`

func find(t *testing.T) *compose.Engine {
	t.Helper()
	e, err := compose.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestFind(t *testing.T) {
	for _, tt := range []struct {
		name     string
		programs map[string]string
		version  string
		err      string
	}{
		{"the plugin is taken before the program", map[string]string{"docker": withPlugin, "docker-compose": "echo 1.29.2"}, "docker 28.0.1 with docker compose v2.40.0", ""},
		{"the program", map[string]string{"docker": `[ "$1" = version ] && echo 20.10.24`, "docker-compose": "echo 1.29.2"}, "docker 20.10.24 with docker-compose 1.29.2", ""},
		{"no docker", nil, "", "no docker on the PATH"},
		{"no engine", map[string]string{"docker": "echo cannot connect >&2; exit 1"}, "", "cannot connect"},
		{"no compose", map[string]string{"docker": `[ "$1" = version ] && echo 20.10.24`, "docker-compose": "exit 1"}, "", "compose is not"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fake(t, tt.programs)
			e, err := compose.Find(t.Context())
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("%v, want an error with %q", err, tt.err)
				}
				return
			}
			if err != nil || e.Version() != tt.version {
				t.Errorf("%q, %v; want %q", e.Version(), err, tt.version)
			}
		})
	}
}

func TestUp(t *testing.T) {
	notes := fake(t, map[string]string{"docker": withPlugin + `; [ "$1 $2" != "compose --project-name" ] || [ "$DRILL" = yes ] || exit 3`})
	p := &compose.Project{Engine: find(t), Name: "p", Files: []string{"/a.yaml", "/b.yaml"}, Env: map[string]string{"DRILL": "yes"}}
	if err := p.Up(t.Context(), "one", "two"); err != nil {
		t.Fatal(err)
	}
	all := notes()
	if got, want := all[len(all)-1], "docker compose --project-name p --file /a.yaml --file /b.yaml up --detach one two"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// The engine has containers of four projects; only those of ours may go.
const crowded = withPlugin + `
case "$1 $2" in
"ps --all") printf 'c1 ours-etcd\nc2 theirs\nc3 ours-zk\nc4\nc5 not-ours-etcd\n';;
"network ls") printf 'n1 ours-etcd\nn2 theirs\n';;
"volume ls") printf 'v2 theirs\n';;
esac`

func TestRemoveAll(t *testing.T) {
	notes := fake(t, map[string]string{"docker": crowded})
	e := find(t)
	if err := e.RemoveAll(t.Context(), "ours-"); err != nil {
		t.Fatal(err)
	}
	var removed []string
	for _, n := range notes() {
		if strings.Contains(n, " rm") {
			removed = append(removed, n)
		}
	}
	if got, want := strings.Join(removed, "; "), "docker rm --force --volumes c1 c3; docker network rm n1"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if err := e.RemoveAll(t.Context(), ""); err == nil {
		t.Error("everything on this machine was removed")
	}
}

func TestRemove(t *testing.T) {
	notes := fake(t, map[string]string{"docker": crowded})
	if err := (&compose.Project{Engine: find(t), Name: "ours-zk"}).Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	var removed []string
	for _, n := range notes() {
		if strings.Contains(n, " rm") {
			removed = append(removed, n)
		}
	}
	if got, want := strings.Join(removed, "; "), "docker rm --force --volumes c3"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestState(t *testing.T) {
	for _, tt := range []struct {
		says string
		want compose.State
		err  bool
	}{
		{"true false 0 172.18.0.2 ", compose.State{Running: true, Address: "172.18.0.2"}, false},
		{"true true 0 172.18.0.2 172.19.0.2 ", compose.State{Running: true, Paused: true, Address: "172.18.0.2"}, false},
		{"false false 137  ", compose.State{Status: 137}, false},
		{"", compose.State{}, true},
		{"true false x", compose.State{}, true},
	} {
		fake(t, map[string]string{"docker": withPlugin + `; [ "$1" != container ] || echo "` + tt.says + `"`})
		got, err := find(t).State(t.Context(), "c")
		if got != tt.want || (err != nil) != tt.err {
			t.Errorf("%q: %+v, %v; want %+v", tt.says, got, err, tt.want)
		}
	}
}

func TestErrorsHaveWhatWasSaid(t *testing.T) {
	fake(t, map[string]string{"docker": withPlugin + `; [ "$1" != kill ] || { echo no such container >&2; exit 1; }`})
	err := find(t).Kill(t.Context(), "gone")
	if err == nil || !strings.Contains(err.Error(), "no such container") || !strings.Contains(err.Error(), "docker kill gone") {
		t.Errorf("%v, want the command and what it said", err)
	}
}

func TestLogsHasBothOutputs(t *testing.T) {
	fake(t, map[string]string{"docker": withPlugin + `; [ "$1" != logs ] || { echo out; echo err >&2; }`})
	if text, err := find(t).Logs(t.Context(), "c"); text != "out\nerr\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAContextEndsACommand(t *testing.T) {
	fake(t, map[string]string{"docker": withPlugin + `; [ "$1" != wait ] || exec sleep 600`})
	e := find(t)
	errOver := errors.New("the time is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	e.Gate = func(context.Context) (func(), error) { cancel(errOver); return func() {}, nil }
	if _, err := e.Docker(ctx, "wait", "c"); !errors.Is(err, errOver) {
		t.Errorf("%v, want %v", err, errOver)
	}
}

func TestGate(t *testing.T) {
	notes := fake(t, map[string]string{"docker": withPlugin})
	e := find(t)
	before := len(notes())
	errShut := errors.New("shut")
	e.Gate = func(context.Context) (func(), error) { return nil, errShut }
	if _, err := e.Docker(t.Context(), "ps"); !errors.Is(err, errShut) {
		t.Errorf("%v, want %v", err, errShut)
	}
	if _, err := e.Logs(t.Context(), "c"); !errors.Is(err, errShut) {
		t.Errorf("%v, want %v", err, errShut)
	}
	if len(notes()) != before {
		t.Error("docker was asked although the gate was shut")
	}
	held := 0
	e.Gate = func(context.Context) (func(), error) { held++; return func() { held-- }, nil }
	if _, err := e.Docker(t.Context(), "ps"); err != nil || held != 0 {
		t.Errorf("%v, and %d have not left", err, held)
	}
}
