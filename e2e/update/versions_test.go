package update

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// grown are the types that have a field more in the version after this one, by their files.
var grown = map[string]string{
	"coord/claims/values.go":      "type record struct {",
	"daemon/takeover/takeover.go": "type Commit struct {",
	"daemon/resp/saved.go":        "type Saved struct {",
	"daemon/serve/freeze.go":      "type Connection struct {",
}

// field is always written, so that whoever does not know it meets it.
const field = "\n\tGrown alwaysGrown `json:\"grown\"`\n"

const marshals = `
// alwaysGrown is a field of a later version.
type alwaysGrown struct{}

// MarshalJSON writes it.
func (alwaysGrown) MarshalJSON() ([]byte, error) { return []byte("7"), nil }

// UnmarshalJSON reads anything.
func (*alwaysGrown) UnmarshalJSON([]byte) error { return nil }
`

// root is the module's directory.
func root(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(string(must.Get(exec.Command("go", "list", "-m", "-f", "{{.Dir}}", process.Package).Output())(t)))
}

// version builds the module in dir as that version, with more flags.
func version(t *testing.T, dir, name string, flags ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "flakeward")
	build := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-ldflags", "-X " + process.Package + "/cli.version=" + name, "-o", program}, flags...), ".")...)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return program
}

// after builds the version after this one.
func after(t *testing.T, dir string) string {
	t.Helper()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	temp := t.TempDir()
	for path, declaration := range grown {
		text := string(must.Get(os.ReadFile(filepath.Join(dir, path)))(t))
		if strings.Count(text, declaration) != 1 {
			t.Fatalf("%s has no %q", path, declaration)
		}
		into := filepath.Join(temp, strings.ReplaceAll(path, "/", "-"))
		must.Do(t, os.WriteFile(into, []byte(strings.Replace(text, declaration, declaration+field, 1)+marshals), 0o600))
		overlay.Replace[filepath.Join(dir, path)] = into
	}
	list := filepath.Join(temp, "overlay.json")
	must.Do(t, os.WriteFile(list, must.Get(json.Marshal(overlay))(t), 0o600))
	return version(t, dir, "0.2.0", "-overlay", list)
}

// This version, which is the first that can be taken over as it is now, and the one after share a
// cluster, and take over from each other, up and down, one host after the other, under clients that
// never try again.
func TestVersionsSideBySide(t *testing.T) {
	if !*long {
		t.Skip("it builds two versions: -long")
	}
	dir := root(t)
	programs, names := []string{version(t, dir, "0.1.0"), after(t, dir)}, []string{"this", "after"}
	etcd := etcdtest.Start(t, etcdtest.Options{})
	var hosts []*process.Host
	var running []*process.Daemon
	var all []*clients
	for i := range 3 {
		h := must.Get(process.NewHost(programs[0], sockettest.Dir(t)+"/h", "--coord", etcd.URL("versions"), "--takeover", "--max-block", "1m", "--host", fmt.Sprint(i)))(t)
		hosts, running = append(hosts, h), append(running, start(t, h))
		all = append(all, ask(t, h.Socket, 4, false))
	}
	takeovers, longest := 0, time.Duration(0)
	to := func(host, version int) {
		hosts[host].Binary = programs[version]
		next := start(t, hosts[host])
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		select {
		case <-running[host].Ended():
		case <-ctx.Done():
			t.Fatalf("two daemons run on host %d:\n%s", host, next.Tail())
		}
		must.Do(t, next.Await(ctx, "holds a worker ID"))
		running[host] = next
		wait := all[host].wait()
		t.Logf("host %d: %s, the longest wait was %v", host, names[version], wait.Round(time.Millisecond))
		takeovers, longest = takeovers+1, max(longest, wait)
	}
	for range 6 {
		for _, version := range []int{1, 0} {
			for host := range hosts {
				to(host, version)
			}
		}
	}
	var ids []int64
	for _, c := range all {
		ids = append(ids, c.end()...)
	}
	t.Logf("FIGURE %d takeovers between two versions, %d IDs: the longest wait was %v", takeovers, distinct(t, ids), longest.Round(time.Millisecond))
}
