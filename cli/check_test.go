package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// checks runs `check`.
func checks(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, _, err := command(t, "", append([]string{"check"}, args...)...)
	return out, err
}

// The command lists all that it finds, ends with 1 whatever that is and wherever, and writes
// nothing.
func TestCheckListsEveryProblem(t *testing.T) {
	dir := sockettest.Dir(t)
	socket, directory := filepath.Join(dir, "new", "s"), "dir:"+filepath.Join(dir, "coord")
	open, empty, file := filepath.Join(dir, "open"), filepath.Join(dir, "empty"), filepath.Join(dir, "flakeward.yaml")
	must.Do(t, os.Mkdir(open, 0o777), os.Chmod(open, 0o777), os.WriteFile(empty, nil, 0o600),
		os.WriteFile(file, []byte("sockt: /x\ndatacenter: many\n"), 0o600))
	const ok, unasked = "OK: the daemon would start\n", "the coordinator was not asked: fix the settings first\n"
	for _, c := range []struct {
		name, socket, coord, more string
		out                       string   // the end of what is printed
		says                      []string // in the error; nil: there is none
	}{
		{"nothing", socket, directory, "", "holds no cluster yet: the daemon would make it\n" + ok, nil},
		{"where anybody may write", socket, "dir:" + open, "", "", []string{"anybody may write there"}},
		{"below what is not there", socket, "dir:" + filepath.Join(dir, "state", "below"), "", "", []string{"is not there"}},
		{"the kernel's own", socket, "dir:/proc/x", "", "", []string{"proc"}},
		{"on this host alone", dir, directory, "", "", []string{"not a socket"}},
		{"an empty password's file", socket, directory, "--listen :7070 --password-file " + empty, "", []string{"--password-file"}},
		{"much", dir, "etcd://a", "--datacenter 100 --log-level x --log-json --ttl 1ms --socket-group no-such-group --listen :7070 --coord-ca /nowhere --log-file /nowhere/log",
			unasked, []string{"--datacenter", "--log-level", "--ttl", "--socket-group", "not a socket", "other hosts can reach :7070", "--log-file"}},
		{"a file", socket, directory, "--config " + file, "", []string{file + `:1: there is no setting "sockt"`, file + `:2: datacenter: "many"`}},
		{"a layout that has ended", socket, directory, "--layout time=30@1ms,worker=10,sequence=12;epoch=2020-01-01", "", []string{"ran out of time"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := checks(t, append([]string{"--socket", c.socket, "--coord", c.coord}, strings.Fields(c.more)...)...)
			var logged *loggedError
			if !strings.HasSuffix(out, c.out) || (err == nil) != (c.says == nil) || err != nil && ExitCode(err) != ExitFailed || errors.As(err, &logged) {
				t.Errorf("printed %q, status %d, %v", out, ExitCode(err), err)
			}
			for _, part := range c.says {
				if !strings.Contains(fmt.Sprint(err), part) {
					t.Errorf("%v does not name %q", err, part)
				}
			}
		})
	}
	if _, err := checks(t, "--nosuch"); ExitCode(err) != ExitUsage {
		t.Errorf("a flag that is none ends with %d", ExitCode(err))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Errorf("the check left %v, %v", left, err)
	}
}

// A daemon makes what its own directory lies in, so that a user who has none yet needs to make
// nothing.
func TestCheckOfADefaultDirectoryThatIsToBeMade(t *testing.T) {
	home := sockettest.Dir(t)
	p := defaultPaths(1000, func(string) string { return "" }, home)
	var out strings.Builder
	run := func() error {
		out.Reset()
		return newProgram(p, realOutside(nil)).run(t.Context(), []string{"flakeward", "check"}, strings.NewReader(""), &out, io.Discard)
	}
	if err := run(); err != nil || !strings.HasSuffix(out.String(), "the coordinator "+p.coordinator()+" holds no cluster yet: the daemon would make it\nOK: the daemon would start\n") {
		t.Errorf("printed %q, %v", out.String(), err)
	}
	must.Do(t, os.WriteFile(filepath.Join(home, ".local"), nil, 0o600))
	if err := run(); err == nil || !strings.Contains(err.Error(), ".local") {
		t.Errorf("below a file: printed %q, %v", out.String(), err)
	}
}

// The coordinator is asked, and nothing is made there: neither by a daemon that fits nor by one
// that does not.
func TestCheckCoordinator(t *testing.T) {
	onRealCoordinators(t, func(t *testing.T, url string) {
		dir := sockettest.Dir(t)
		args := []string{"--socket", filepath.Join(dir, "s"), "--coord", url}
		out, err := checks(t, args...)
		if made := strings.HasPrefix(url, "dir:"); made != (err == nil) || made && !strings.Contains(out, "no cluster yet") || !made && !strings.Contains(err.Error(), "flakeward cluster create") {
			t.Errorf("without a cluster: %q, %v", out, err)
		}
		o := must.Get(connect.Operate(connect.Config{URL: url}))(t)
		defer o.Close()
		if _, err := o.Inspect(t.Context()); !errors.Is(err, coord.ErrNoCluster) {
			t.Errorf("the check has made a cluster: %v", err)
		}
		for range 2 { // the second time it is there
			must.Get(clusters(t, "", "create", "--empty", "--coord", url))(t)
		}
		d := runDaemon(t, "--socket", filepath.Join(dir, "s"), "--coord", url)
		cluster := must.Get(o.Inspect(t.Context()))(t)
		// The daemon runs on, with the socket's lock.
		if out, err := checks(t, args...); err != nil || !strings.Contains(out, cluster.UUID) {
			t.Errorf("with a daemon that runs: %q, %v", out, err)
		}
		if _, err := checks(t, append(args, "--layout", "twitter")...); err == nil || !strings.Contains(err.Error(), "layout") || ExitCode(err) != ExitFailed {
			t.Errorf("another layout: %v", err)
		}
		d.Stop()
	})
}
