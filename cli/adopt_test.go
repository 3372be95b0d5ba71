package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/dir"
	"github.com/flakeward/flakeward/internal/must"
)

// A copy is refused by name until it is adopted; then it is another cluster, above all that the
// original may have granted.
func TestACopyIsAdopted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "coord")
	holder := join(t, "dir:"+path, "a")
	_, ceiling := holder.hold(t, 0, 1000)
	if out, err := exec.Command("cp", "-a", path, path+".1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	copied := "dir:" + path + ".1"
	if _, err := operates(t, "cluster", "--coord", copied); err == nil || !strings.Contains(err.Error(), string(dir.CodeCopied)) || !strings.Contains(err.Error(), "flakeward cluster adopt") {
		t.Errorf("the copy: %v", err)
	}
	for range 2 { // it may have been interrupted
		out, err := operates(t, "cluster", "adopt", "--yes", "--coord", copied)
		if err != nil || !strings.Contains(out, "adopted: "+copied) {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	var out, said strings.Builder
	must.Do(t, Run(t.Context(), []string{"flakeward", "cluster", "adopt", "--begin", "1s", "--force", "--yes", "--coord", copied}, strings.NewReader(""), &out, &said, nil))
	if !strings.Contains(said.String(), "flakeward: warning: ") {
		t.Errorf("a time that may be too early is no warning: %q", said.String())
	}
	o := must.Get(connect.Operate(connect.Config{URL: copied}))(t)
	defer o.Close()
	is := must.Get(o.Inspect(t.Context()))(t)
	if was := must.Get(holder.Coordinator.(*dir.Coordinator).Inspect(t.Context()))(t); is.UUID == was.UUID || is.Floor <= ceiling || is.Layout != was.Layout {
		t.Errorf("the copy is %+v, the original %+v with a ceiling of %d", is, was, ceiling)
	}
	if _, err := operates(t, "cluster", "adopt", "--yes", "--coord", "etcd://127.0.0.1:1"); ExitCode(err) != ExitUsage {
		t.Errorf("adopt at etcd: %v", err)
	}
}

// operates runs a command of an operator.
func operates(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, said strings.Builder
	err := Run(t.Context(), append([]string{"flakeward"}, args...), strings.NewReader(""), &out, &said, nil)
	return out.String(), err
}
