package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// checks runs `daemon` with --check among args, and wants no daemon to be started.
func checks(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, said strings.Builder
	err := Run(t.Context(), append([]string{"flakeward", "daemon"}, args...), strings.NewReader(""), &out, &said,
		func(context.Context, daemon.Config) error { t.Error("a daemon was started"); return nil })
	return out.String(), err
}

func TestCheckSaysAllAtOnceAndWritesNothing(t *testing.T) {
	dir := sockettest.Dir(t)
	paths := []string{"--socket", filepath.Join(dir, "new", "s"), "--coord", "dir:" + filepath.Join(dir, "coord")}
	if out, err := checks(t, append(paths, "--check")...); err != nil || out != "OK: the daemon would start\n" {
		t.Errorf("%q, %v", out, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("the check left %v, %v", left, err)
	}
	open := filepath.Join(dir, "open")
	must.Do(t, os.Mkdir(open, 0o777))
	must.Do(t, os.Chmod(open, 0o777))
	for at, says := range map[string]string{open: "anybody may write there", filepath.Join(dir, "state", "below"): "is not there", "/proc/x": "proc"} {
		if _, err := checks(t, "--check", "--socket", filepath.Join(dir, "s"), "--coord", "dir:"+at); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("a directory at %s: %v, want %q", at, err, says)
		}
	}
	_, err := checks(t, "--check", "--socket", dir, "--datacenter", "100", "--log-level", "x", "--socket-group", "no-such-group",
		"--listen", ":7070",
		"--coord", "etcd://a", "--coord-ca", filepath.Join(dir, "none"), "--log-file", filepath.Join(dir, "none", "log"))
	for _, part := range []string{"--datacenter", "--log-level", "--socket-group", "not a socket", "other hosts can reach :7070", "--log-file"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %q", err, part)
		}
	}
	if _, err := checks(t, append(paths, "--check", "--listen", ":7070", "--password-file", os.DevNull)...); err == nil || !strings.Contains(err.Error(), "--password-file") {
		t.Errorf("an empty password's file: %v", err)
	}
	if ExitCode(err) != ExitUsage {
		t.Errorf("wrong settings end with %d", ExitCode(err))
	}
	if _, err := checks(t, "--check", "--socket", dir, "--coord", "dir:"+filepath.Join(dir, "coord")); ExitCode(err) != ExitFailed {
		t.Errorf("what only this host refuses ends with %d: %v", ExitCode(err), err)
	}
}

// The coordinator is asked, and nothing is made there: neither by a daemon that fits nor by one
// that does not.
func TestCheckCoordinator(t *testing.T) {
	onRealCoordinators(t, func(t *testing.T, url string) {
		dir := sockettest.Dir(t)
		args := []string{"--socket", filepath.Join(dir, "s"), "--coord", url}
		out, err := checksAlone(t, args...)
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
		if out, err := checksAlone(t, args...); err != nil || !strings.Contains(out, cluster.UUID) {
			t.Errorf("with a daemon that runs: %q, %v", out, err)
		}
		if _, err := checksAlone(t, append(args, "--layout", "twitter")...); err == nil || !strings.Contains(err.Error(), "layout") || ExitCode(err) != ExitFailed {
			t.Errorf("another layout: %v", err)
		}
		d.Stop()
	})
}

// What only a clock shows is found as well: a layout whose last tick has passed.
func TestCheckFindsALayoutThatHasEnded(t *testing.T) {
	dir := sockettest.Dir(t)
	_, err := checks(t, "--check", "--socket", filepath.Join(dir, "s"), "--coord", "dir:"+filepath.Join(dir, "coord"),
		"--layout", "time=30@1ms,worker=10,sequence=12;epoch=2020-01-01")
	if err == nil || !strings.Contains(err.Error(), "ran out of time") || ExitCode(err) != ExitFailed {
		t.Errorf("%v, status %d", err, ExitCode(err))
	}
}

// checksAlone runs `check`.
func checksAlone(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, _, err := command(t, "", append([]string{"check"}, args...)...)
	return out, err
}

// The command lists all that daemon --check does, and ends with 1 whatever it found and wherever.
func TestCheckCommandListsEveryProblem(t *testing.T) {
	dir := sockettest.Dir(t)
	out, err := checksAlone(t, "--socket", filepath.Join(dir, "s"), "--coord", "dir:"+filepath.Join(dir, "coord"))
	if want := "OK: the daemon would start\n"; err != nil || !strings.HasSuffix(out, want) || !strings.Contains(out, "holds no cluster yet") {
		t.Errorf("%q, %v", out, err)
	}
	out, err = checksAlone(t, "--socket", dir, "--log-level", "x", "--log-json", "--ttl", "1ms", "--coord", "etcd://a")
	for _, part := range []string{"--log-level", "not a socket", "--ttl"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not name %q", err, part)
		}
	}
	var logged *loggedError
	if ExitCode(err) != ExitFailed || errors.As(err, &logged) || out != "the coordinator was not asked: fix the settings first\n" {
		t.Errorf("%q, status %d, %T", out, ExitCode(err), err)
	}
	path := filepath.Join(dir, "flakeward.yaml")
	must.Do(t, os.WriteFile(path, []byte("sockt: /x\ndatacenter: many\n"), 0o600))
	_, err = checksAlone(t, "--config", path)
	for _, part := range []string{":1: there is no setting \"sockt\"", ":2: datacenter: \"many\""} {
		if err == nil || !strings.Contains(err.Error(), path+part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	if ExitCode(err) != ExitFailed {
		t.Errorf("a wrong file ends with %d", ExitCode(err))
	}
	if _, err := checksAlone(t, "--nosuch"); ExitCode(err) != ExitUsage {
		t.Errorf("a flag that is none ends with %d", ExitCode(err))
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the check left %v, %v", left, err)
	}
}
