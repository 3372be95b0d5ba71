package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/cli/configfile"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/must"
)

const sample = "../deploy/flakeward.yaml"

// TestMain takes variables of the machine's own daemon out of the tests' way, and lets a user
// without a home or a directory for sockets have one. Under the program's name it is the program.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "flakeward" {
		Main(nil)
	}
	for _, name := range []string{"HOME", "XDG_RUNTIME_DIR"} {
		if err := os.Setenv(name, os.TempDir()); err != nil {
			panic(err)
		}
	}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "FLAKEWARD_") {
			if err := os.Unsetenv(name); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(zktest.Main(m))
}

// configOf runs the daemon command with a stand-in for the daemon, and returns what that was given.
func configOf(t *testing.T, args ...string) (daemon.Config, error) {
	t.Helper()
	var got daemon.Config
	err := Run(t.Context(), append([]string{"flakeward", "daemon"}, args...), strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{},
		func(_ context.Context, config daemon.Config) error {
			got = config
			return nil
		})
	got.Log, got.Version, got.LogDropped, got.ReopenLog, got.Reload, got.Renew, got.Successor = nil, "", nil, nil, nil, nil, nil
	return got, err
}

// others has another value than the default for each setting of daemon.Config.
var others = map[string]string{
	"socket": "/other/x.sock", "socket-mode": "0600", "socket-group": "wheel", "max-connections": "17", "max-count": "18", "memory": "100MiB", "idle-timeout": "90s", "allow-uid": "1000,1001", "allow-gid": "7",
	"listen": "127.0.0.1:2", "password-file": "/other/listen-password",
	"coord-ca": "/other/ca.pem", "coord-cert": "/other/cert.pem", "coord-key": "/other/key.pem",
	"coord-user": "u", "coord-password-file": "/other/password",
	"takeover": "true", "takeover-stay": "true", "require-coord": "true",
	"layout": "twitter", "datacenter": "3", "sequence-start": "zero", "coord": "etcd://other:2379/ids", "host": "h", "ttl": "11s",
	"window": "13m", "publish": "14s", "restart-wait": "1500ms", "max-sleep": "16ms", "order": "strict", "max-block": "17s",
	"form": "base62", "burst": "18ms", "rate": "5000/s", "forward-hold": "20s", "trust-clock": "true",
}

// base returns flags with which any setting is valid alone: a layout with a datacenter field, and a
// coordinator with a user and a client certificate. The one of that name is left out.
func base(except string) []string {
	var args []string
	for _, arg := range []string{
		"--layout=discord", "--coord=zk://h1", "--coord-cert=/cert.pem", "--coord-key=/key.pem", "--coord-user=base", "--coord-password-file=/password",
		"--listen=127.0.0.1:1", "--password-file=/listen-password",
	} {
		if name, _, _ := strings.Cut(arg, "="); name != "--"+except {
			args = append(args, arg)
		}
	}
	return args
}

// logSettings are those that are not the daemon's.
var logSettings = []string{"log-level", "log-json", "log-file"}

// leaves returns the values of a struct's fields, also of structs within, by their paths.
func leaves(prefix string, v reflect.Value, into map[string]any) map[string]any {
	for i := range v.NumField() {
		path := prefix + v.Type().Field(i).Name
		if v.Field(i).Kind() == reflect.Struct {
			leaves(path+".", v.Field(i), into)
			continue
		}
		into[path] = v.Field(i).Interface()
	}
	return into
}

// notSettings are the fields of daemon.Config that code sets.
var notSettings = []string{"Service", "Version", "Log", "LogDropped", "ReopenLog", "Reload", "Renew", "Successor", "Clock", "Kernel", "Ready", "Cluster.FUSE", "Cluster.Adopt", "VMClock", "Time.End"}

func TestEachSettingIsOneFieldOfConfigByAFlagAVariableAndAKey(t *testing.T) {
	plain := must.Get(configOf(t, base("")...))(t)
	before := leaves("", reflect.ValueOf(plain), map[string]any{})
	file := filepath.Join(t.TempDir(), "flakeward.yaml")
	reached := make(map[string]string)
	for _, name := range settingNames() {
		if slices.Contains(logSettings, name) {
			continue
		}
		value := others[name]
		config := must.Get(configOf(t, append(base(name), "--"+name+"="+value)...))(t)
		must.Do(t, os.WriteFile(file, []byte(name+": "+value+"\n"), 0o600))
		byKey := must.Get(configOf(t, append(base(name), "--config", file)...))(t)
		t.Setenv(variable(name), value)
		byVariable := must.Get(configOf(t, base(name)...))(t)
		t.Setenv(variable(name), "") // as if it were not set
		if !reflect.DeepEqual(byKey, config) || !reflect.DeepEqual(byVariable, config) {
			t.Errorf("--%s gives\n%+v\nthe key\n%+v\nthe variable\n%+v", name, config, byKey, byVariable)
		}
		var changed []string
		for path, value := range leaves("", reflect.ValueOf(config), map[string]any{}) {
			if !slices.Contains(notSettings, path) && !reflect.DeepEqual(value, before[path]) {
				changed = append(changed, path)
			}
		}
		if len(changed) != 1 || reached[changed[0]] != "" {
			t.Errorf("--%s changes %v, want one field that no other changes: %v", name, changed, reached)
			continue
		}
		reached[changed[0]] = name
	}
	for path := range before {
		if reached[path] == "" && !slices.Contains(notSettings, path) {
			t.Errorf("no setting changes Config.%s", path)
		}
	}
}

func TestSampleHoldsEverySettingWithItsDefault(t *testing.T) {
	text := must.Get(os.ReadFile(sample))(t)
	values := must.Get(configfile.Parse(sample, text, settingNames()))(t)
	for _, name := range settingNames() {
		if _, ok := values[name]; !ok {
			t.Errorf("%s is missing in %s", name, sample)
		}
	}

	// As root, nothing may change when the sample is filled in.
	root := defaultPaths(0, func(string) string { return "" }, "/root")
	want := defaultSettings(root)
	if got := values["log-level"].Text; got != want.logLevel {
		t.Errorf("log-level is %q in %s, the default is %q", got, sample, want.logLevel)
	}
	if got := values["log-json"].Text; got != "false" {
		t.Errorf("log-json is %q in %s, the default is false", got, sample)
	}
	got := must.Get(configOf(t, "--config", sample))(t)
	if !reflect.DeepEqual(got, want.daemon) {
		t.Errorf("%s gives\n%+v\nthe defaults are\n%+v", sample, got, want.daemon)
	}
}

func TestWithoutSettingsTheDaemonGetsItsDefaults(t *testing.T) {
	got, err := configOf(t)
	if want := defaultSettings(ownPaths()).daemon; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, %v\nwant\n%+v", got, err, want)
	}
}

func TestFlagsWinOverVariablesOverFileOverDefaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flakeward.yaml")
	must.Do(t, os.WriteFile(file, []byte("ttl: 21s\nmax-sleep: 21ms\nmax-block: 21s\n"), 0o600))
	t.Setenv("FLAKEWARD_CONFIG", file)
	t.Setenv("FLAKEWARD_MAX_SLEEP", "22ms")
	t.Setenv("FLAKEWARD_MAX_BLOCK", "22s")
	config := must.Get(configOf(t, "--max-block", "23s"))(t)
	for _, c := range []struct {
		from      string
		got, want time.Duration
	}{
		{"the default", config.Grant.Publish, daemon.DefaultConfig().Grant.Publish},
		{"the file", config.Cluster.TTL, 21 * time.Second},
		{"the variable over the file", config.Waiting.MaxSleep, 22 * time.Millisecond},
		{"the flag over both", config.Waiting.MaxBlock, 23 * time.Second},
	} {
		if c.got != c.want {
			t.Errorf("%s gives %v, want %v", c.from, c.got, c.want)
		}
	}
}

func TestEmptyVariablesCountAsUnset(t *testing.T) {
	want := must.Get(configOf(t))(t)
	file := filepath.Join(t.TempDir(), "flakeward.yaml")
	must.Do(t, os.WriteFile(file, []byte("layout: twitter\n"), 0o600))
	for _, name := range append(settingNames(), configName) {
		t.Setenv(variable(name), "")
	}
	if got, err := configOf(t); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("with all variables empty:\n%+v, %v, without:\n%+v", got, err, want)
	}
	if got, err := configOf(t, "--config", file); err != nil || got.IDs.Layout != "twitter" {
		t.Errorf("the file says twitter, the variable nothing: %q, %v", got.IDs.Layout, err)
	}
}

func TestWrongSettings(t *testing.T) {
	for _, c := range []struct {
		name, file string
		args       []string
		want       string
	}{
		{"an unknown key", "sokcet: /x\n", nil, `flakeward.yaml:1: there is no setting "sokcet": did you mean "socket"?`},
		{"no duration", "# times\nttl: 10\n", nil, `flakeward.yaml:2: ttl: "10" is not a duration`},
		{"no number", "max-count: many\n", nil, `flakeward.yaml:1: max-count: "many" is not a whole number`},
		{"no truth", "log-json: maybe\n", nil, `flakeward.yaml:1: log-json: "maybe" is not true or false`},
		{"no mode", "socket-mode: rw-rw----\n", nil, `flakeward.yaml:1: socket-mode: "rw-rw----" is not a file mode`},
		{"a name twice", "window: 1m\nwindow: 2m\n", nil, "flakeward.yaml:2: window is given twice"},
		{"a mode of other bits", "", []string{"--socket-mode", "4755"}, "is not a file mode"},
		{"a value that Validate refuses", "", []string{"--ttl", "1ms"}, "--ttl"},
		{"a user alone", "", []string{"--coord", "etcd://h", "--coord-user", "u"}, "--coord-user: a user needs a password"},
		{"a password alone", "", []string{"--coord", "etcd://h", "--coord-password-file", "/p"}, "--coord-password-file: a password needs a user"},
		{"two users", "", []string{"--coord", "etcd://a:b@h", "--coord-user", "u", "--coord-password-file", "/p"}, "--coord-user: --coord has a user, too"},
		{"a certificate alone", "", []string{"--coord", "etcd://h", "--coord-cert", "/c"}, "--coord-cert: a client certificate needs its key"},
		{"a key alone", "", []string{"--coord", "etcd://h", "--coord-key", "/k"}, "--coord-key: a key needs its client certificate"},
		{"a directory's user", "", []string{"--coord-user", "u", "--coord-password-file", "/p"}, "--coord-user: a directory has no users"},
		{"a directory in a pod", "", []string{"--require-coord", "--coord", "dir:/x"}, "--coord: a coordinator of this host alone is refused by --require-coord"},
		{"no coordinator in a pod", "require-coord: true\n", nil, "--coord: a coordinator of this host alone is refused by --require-coord"},
		{"a directory's TLS", "", []string{"--coord-ca", "/c"}, "--coord-ca: a directory speaks to nobody"},
		{"a flag without a unit", "", []string{"--publish", "3"}, `"3" for flag -publish`},
		{"an unknown scheme", "", []string{"--coord", "zoo://h"}, "zk://host:port"},
		{"an unknown flag", "", []string{"--sokcet", "/x"}, "flakeward daemon --help"},
		{"an unknown level", "", []string{"--log-level", "inof"}, `there is no level "inof"`},
		{"a near level", "", []string{"--log-level", "warm"}, `did you mean "warn"?`},
		{"an argument", "", []string{"start"}, `daemon takes no arguments, but got "start"`},
		{"a missing file", "", []string{"--config", "/nowhere/flakeward.yaml"}, "/nowhere/flakeward.yaml: no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := c.args
			if c.file != "" {
				file := filepath.Join(t.TempDir(), "flakeward.yaml")
				must.Do(t, os.WriteFile(file, []byte(c.file), 0o600))
				args = append(args, "--config", file)
			}
			_, err := configOf(t, args...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("the error is %v, want %q in it", err, c.want)
			}
			if code := ExitCode(err); code != ExitUsage {
				t.Errorf("the status is %d, want %d", code, ExitUsage)
			}
		})
	}
}

func TestDefaultPaths(t *testing.T) {
	for _, c := range []struct {
		name string
		uid  int
		env  map[string]string
		home string
		want paths
	}{
		{"root", 0, map[string]string{"XDG_RUNTIME_DIR": "/run/user/0"}, "/root", paths{"/run/flakeward/flakeward.sock", "/var/lib/flakeward", false}},
		{"a user with XDG", 1000, map[string]string{"XDG_RUNTIME_DIR": "/run/user/1000", "XDG_STATE_HOME": "/s"}, "/home/a",
			paths{"/run/user/1000/flakeward/flakeward.sock", "/s/flakeward", false}},
		{"a user without", 1000, nil, "/home/a", paths{"/home/a/.local/state/flakeward-socket/flakeward.sock", "/home/a/.local/state/flakeward", true}},
		{"relative ones are ignored", 1000, map[string]string{"XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "s"}, "/home/a",
			paths{"/home/a/.local/state/flakeward-socket/flakeward.sock", "/home/a/.local/state/flakeward", true}},
		{"no home", 1000, nil, "", paths{}},
		{"no home, but XDG", 1000, map[string]string{"XDG_RUNTIME_DIR": "/run/user/1000"}, "", paths{"/run/user/1000/flakeward/flakeward.sock", "", false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := defaultPaths(c.uid, func(name string) string { return c.env[name] }, c.home)
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// Where nothing else keeps others out, the directory of a user's default socket does: the socket's
// mode lets in the user's group.
func TestADefaultSocketBesideTheStateIsTheUsersAlone(t *testing.T) {
	p := defaultPaths(1000, func(string) string { return "" }, t.TempDir())
	must.Do(t, p.make("/elsewhere/s", "etcd://h"))
	if _, err := os.Stat(filepath.Dir(p.socket)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a socket elsewhere: %v", err)
	}
	must.Do(t, p.make(p.socket, "etcd://h"))
	for _, dir := range []string{filepath.Dir(p.socket), filepath.Dir(p.coord)} {
		if mode := must.Get(os.Stat(dir))(t).Mode().Perm(); mode != 0o700 {
			t.Errorf("%s has mode %v", dir, mode)
		}
	}
}
