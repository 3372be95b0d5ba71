package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

// clusters runs flakeward cluster without a terminal.
func clusters(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := newProgram(ownPaths(), realOutside(nil)).run(t.Context(), append([]string{"flakeward", "cluster"}, args...), strings.NewReader(stdin), &out, io.Discard)
	return out.String(), err
}

// A cluster goes from one kind of coordinator to the other, by a file and by standard output.
func TestExportAndImport(t *testing.T) {
	servers := zktest.Shared(t)
	at := []string{etcdtest.Start(t, etcdtest.Options{}).URL("/flakeward"), "zk://" + strings.Join(servers.Addresses(), ",") + servers.Chroot()}
	file := filepath.Join(t.TempDir(), "cluster")
	for i, from := range at {
		to := at[1-i] + "/to"
		if _, err := clusters(t, "", "export", file, "--coord", from, "--yes"); err == nil || !strings.Contains(err.Error(), "there is no cluster") {
			t.Errorf("without a cluster: %v", err)
		}
		m := join(t, from, "a")
		m.hold(t, narrowLayout(t).TickAt(time.Now().UnixNano()), 600_000)
		shown := must.Get(clusters(t, "", "--coord", from))(t)
		for _, args := range [][]string{{"export", "--yes"}, {"export", file, "--coord", from}, {"import", "--yes"}, {"import", filepath.Dir(file), "--coord", to, "--yes"},
			{"import", file, "--coord", to}, {"import", file, "--coord", "nonsense", "--yes"}} {
			if _, err := clusters(t, "", args...); err == nil {
				t.Errorf("%v was done", args)
			}
		}
		if _, err := clusters(t, "", "export", filepath.Dir(file), "--coord", from, "--yes"); err == nil || !strings.HasPrefix(err.Error(), "nothing was exported") {
			t.Errorf("to a directory: %v", err)
		}
		join(t, from, "b") // it is served
		must.Get(clusters(t, "", "export", file, "--coord", from, "--yes"))(t)
		again := must.Get(clusters(t, "", "export", "-", "--coord", from, "--yes"))(t)
		if all := must.Get(os.ReadFile(file))(t); again != string(all) || again == "" {
			t.Errorf("exported\n%s\nand then\n%s", all, again)
		}
		if _, err := clusters(t, again[:len(again)-9], "import", "-", "--coord", to, "--yes"); ExitCode(err) != ExitFailed {
			t.Errorf("a damaged file: %v", err)
		}
		out, err := clusters(t, "", "import", file, "--coord", to, "--yes")
		if err != nil || !strings.Contains(out, "--coord "+to) {
			t.Errorf("%q, %v", out, err)
		}
		if got := must.Get(clusters(t, "", "--coord", to))(t); got != strings.Replace(shown, from, to, 1) {
			t.Errorf("the cluster was\n%s\nand is\n%s", shown, got)
		}
		if _, err := clusters(t, again, "import", "-", "--coord", to, "--yes"); err == nil || !strings.Contains(err.Error(), "it holds cluster") {
			t.Errorf("imported twice: %v", err)
		}
		join(t, to, "c")
	}
}

func TestCluster(t *testing.T) {
	out, _, err := ask{standIn: someCluster()}.run(t, "cluster")
	checkError(t, err, "", 0)
	if !strings.Contains(out, "cluster  "+clusterUUID) || !strings.Contains(out, fullLayout) {
		t.Errorf("printed\n%s", out)
	}
}

// What an earlier cluster left behind is not taken for a part of the import.
func TestImportIsRefusedAmongRecordsOfAnotherCluster(t *testing.T) {
	server := etcdtest.Start(t, etcdtest.Options{})
	from, to := server.URL("/from"), server.URL("/to")
	empty := join(t, from, "a")
	file := must.Get(clusters(t, "", "export", "-", "--coord", from, "--yes"))(t)
	must.Do(t, empty.Close())
	join(t, to, "b").hold(t, 0, 600_000)
	must.Get(server.Client().Delete(t.Context(), "/to/layout"))(t)
	for range 2 {
		if _, err := clusters(t, file, "import", "-", "--coord", to, "--yes"); err == nil || !strings.Contains(err.Error(), "it holds 1 records that are not of the export") {
			t.Errorf("among records of another cluster: %v", err)
		}
	}
}
