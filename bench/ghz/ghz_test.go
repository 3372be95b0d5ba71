package ghz_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/flakeward/flakeward/bench/ghz"
)

// output is what ghz prints, without what is not read.
const output = `{"date":"2026-01-01T00:00:00Z","count":3000,"total":1000000000,"average":300000,"rps":3000.5,"errorDistribution":{},
"statusCodeDistribution":{"OK":3000},"latencyDistribution":[{"percentage":50,"latency":280000},{"percentage":99,"latency":910000}],"details":[]}`

func TestParse(t *testing.T) {
	got, err := ghz.Parse(strings.NewReader(output))
	if want := (ghz.Result{Rate: 3000.5, P50: 280 * time.Microsecond, P99: 910 * time.Microsecond}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for name, out := range map[string]string{
		"nothing":      "",
		"a summary":    "Summary:\n  Count: 3000\n",
		"failures":     strings.Replace(output, `"errorDistribution":{}`, `"errorDistribution":{"rpc error: code = Unavailable":2}`, 1),
		"no rate":      strings.Replace(output, "3000.5", "0", 1),
		"a rate below": strings.Replace(output, "3000.5", "-1", 1),
		"too fast":     strings.Replace(output, "3000.5", "1e13", 1),
		"no p50":       strings.Replace(output, `"percentage":50`, `"percentage":51`, 1),
		"p99 below":    strings.Replace(output, "910000", "91", 1),
	} {
		if got, err := ghz.Parse(strings.NewReader(out)); err == nil {
			t.Errorf("%s: gave %+v and no error", name, got)
		}
	}
}

// FuzzParse: figures above 0, or an error.
func FuzzParse(f *testing.F) {
	f.Add(output)
	f.Add(`{"rps":1e300,"latencyDistribution":[{"percentage":50,"latency":1},{"percentage":99,"latency":1}]}`)
	f.Fuzz(func(t *testing.T, out string) {
		r, err := ghz.Parse(strings.NewReader(out))
		if err == nil && (!(r.Rate > 0) || r.Rate > 1e12 || r.P50 <= 0 || r.P99 < r.P50) {
			t.Errorf("%+v", r)
		}
	})
}

// A ghz that the Go toolchain has not built from a module says its version itself, on the standard
// error.
func TestVersion(t *testing.T) {
	program := filepath.Join(t.TempDir(), "ghz")
	for script, want := range map[string]string{
		"#!/bin/sh\necho \"$1 v9.9.9\" >&2\n": "--version v9.9.9",
		"#!/bin/sh\n":                         "unknown",
		"#!/bin/sh\necho no; exit 1\n":        "unknown",
	} {
		if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		if got := ghz.Version(t.Context(), program); got != want {
			t.Errorf("%q: %q, want %q", script, got, want)
		}
	}
	if got := ghz.Version(t.Context(), filepath.Join(t.TempDir(), "none")); got != "unknown" {
		t.Errorf("without a program: %q", got)
	}
}

// What is written can be put together again, and knows the service.
func TestWriteProtoset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	if err := ghz.WriteProtoset(path, etcdserverpb.File_rpc_proto); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(b, &set); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := files.FindDescriptorByName("etcdserverpb.KV.Txn"); err != nil || d == nil {
		t.Errorf("%v, %v", d, err)
	}
}

func TestInstallTakesWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, ghz.Program)
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if got, err := ghz.Install(t.Context(), t.TempDir()); got != program || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestRunSaysWhatGhzSaid(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, ghz.Program)
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho no route >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r, err := (ghz.Load{Program: program, Clients: 1}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no route") {
		t.Errorf("%+v, %v", r, err)
	}
}
