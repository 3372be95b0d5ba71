package connect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/certtest"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
)

func joins(t *testing.T, c coord.Coordinator) error {
	t.Helper()
	_, err := coordtest.CreateAndJoin(t.Context(), c, coord.Layout{Text: "layout", Workers: 8})
	return err
}

// A user in the URL and one beside it are as good; a password that travels as it is, is
// told once, and never shown.
func TestPasswords(t *testing.T) {
	ca := certtest.New(t, "ca")
	for name, c := range map[string]struct {
		options etcdtest.Options
		tls     TLS
		warned  int
	}{
		"plain text": {etcdtest.Options{RootPassword: "geheim"}, TLS{}, 1},
		"TLS":        {etcdtest.Options{RootPassword: "geheim", TLS: ca.Server(), ClientTLS: ca.ClientConfig()}, TLS{CA: ca.File}, 0},
	} {
		cluster := etcdtest.Start(t, c.options)
		for _, config := range []Config{
			{URL: cluster.URL("x"), User: "root", Password: "geheim"},
			{URL: strings.Replace(cluster.URL("x"), "//", "//root:geheim@", 1)},
		} {
			var log logtest.Buffer
			config.TLS, config.Identity, config.Log = c.tls, identity, log.At(hclog.Trace)
			d := must.Get(Open(t.Context(), config))(t)
			if err := joins(t, d); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			coordtest.Close(t, d)
			if n := strings.Count(log.String(), "sent unencrypted"); n != c.warned {
				t.Errorf("%s: told %d times, want %d:\n%s", name, n, c.warned, &log)
			}
			if strings.Contains(log.String(), "geheim") {
				t.Errorf("%s: the log shows the password:\n%s", name, &log)
			}
		}
	}
}

// A server's certificate has to be valid at the time of the daemon's clock, which may hold a wall
// clock that is wrong.
func TestCertificatesAreOfKnownTime(t *testing.T) {
	ca := certtest.New(t, "ca")
	cluster := etcdtest.Start(t, etcdtest.Options{TLS: ca.Server(), ClientTLS: ca.ClientConfig()})
	now := time.Unix(0, clockguard.System{}.Now().Wall)
	for name, c := range map[string]struct {
		ahead time.Duration
		want  string
	}{
		"now":        {0, ""},
		"a year off": {365 * 24 * time.Hour, "its certificate is not valid now"},
	} {
		d, err := Open(t.Context(), Config{URL: cluster.URL("x"), TLS: TLS{CA: ca.File}, Identity: identity, Clock: clocktest.NewManual(now.Add(c.ahead))})
		must.Do(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err = coordtest.CreateAndJoin(ctx, d, coord.Layout{Text: "layout", Workers: 8})
		cancel()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Join: %v; want %q", name, err, c.want)
		}
		coordtest.Close(t, d)
	}
}

// What no server can set right is a ConfigError, of a daemon's start and an operator's.
func TestConfigErrors(t *testing.T) {
	before := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(before, "etcd"), 0o700))
	state := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(state, "coord", "cluster"), 0o700))
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"a URL":              {Config{URL: "zoo://h"}, `"zoo"`},
		"a missing file":     {Config{URL: "etcd://h", TLS: TLS{CA: "/nowhere/ca.pem"}}, "/nowhere/ca.pem"},
		"zk, a missing file": {Config{URL: "zk://h", TLS: TLS{Cert: "/nowhere/c.pem", Key: "/nowhere/k.pem"}}, "/nowhere/c.pem"},
		"half a pair":        {Config{URL: "etcd://h", TLS: TLS{Cert: "/nowhere/c.pem"}}, "give both"},
		"a user alone":       {Config{URL: "etcd://h", User: "u"}, "give both or neither"},
		"a password alone":   {Config{URL: "zk://h", Password: "geheim"}, "give both or neither"},
		"two users":          {Config{URL: "etcd://a:geheim@h", User: "u", Password: "geheim"}, "leave one out"},
		"a directory's TLS":  {Config{URL: "dir:/nowhere", TLS: TLS{CA: "/nowhere/ca.pem"}}, "neither users nor TLS"},
		"a directory's user": {Config{URL: "dir:/nowhere", User: "u", Password: "geheim"}, "neither users nor TLS"},
		"no directory":       {Config{URL: "dir:"}, "dir:/path"},
		"an embedded etcd":   {Config{URL: "embedded:"}, "does not have"},
		"an etcd of before":  {Config{URL: "dir:" + before}, "cluster export"},
		"a state directory":  {Config{URL: "dir:" + state}, "--coord dir:" + state + "/coord"},
	} {
		c.config.Identity = identity
		_, opening := Open(t.Context(), c.config)
		_, operating := Operate(c.config)
		for _, err := range []error{opening, operating} {
			var wrong *ConfigError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("%s: %v; want a ConfigError with %q and no password", name, err, c.want)
			}
		}
	}
}

func TestReadPassword(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), mode))
		must.Do(t, os.Chmod(path, mode))
		return path
	}
	for name, c := range map[string]struct {
		text, want string
		mode       os.FileMode
		warned     bool
	}{
		"plain":         {"geheim", "geheim", 0o600, false},
		"newline":       {"geheim\n", "geheim", 0o400, false},
		"CRLF":          {"geheim\r\n", "geheim", 0o600, false},
		"spaces":        {" ge heim \n", " ge heim ", 0o600, false},
		"group's":       {"geheim\n", "geheim", 0o640, true},
		"everybody's":   {"geheim\n", "geheim", 0o604, true},
		"empty":         {"", "", 0o600, false},
		"newline alone": {"\n", "", 0o600, false},
		"two lines":     {"geheim\ngeheim\n", "", 0o600, false},
		"another file":  {strings.Repeat("geheim", 1000), "", 0o600, false},
	} {
		var log logtest.Buffer
		got, err := ReadPassword(write(name, c.text, c.mode), log.At(hclog.Trace))
		var wrong *ConfigError
		if got != c.want || (c.want == "") != errors.As(err, &wrong) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
		if warned := strings.Contains(log.String(), "others may read"); warned != c.warned {
			t.Errorf("%s: warned %v, want %v", name, warned, c.warned)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") || strings.Contains(log.String(), "geheim") {
			t.Errorf("%s: the password is shown: %v\n%s", name, err, &log)
		}
	}
	if _, err := ReadPassword(filepath.Join(dir, "missing"), nil); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a missing file: %v", err)
	}
}
