// Package ghz runs ghz, a load generator for gRPC, and reads what it measured.
package ghz

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/flakeward/flakeward/internal/process"
)

const (
	// Program is the name of the executable.
	Program = "ghz"
	// Module is what Install installs if there is no ghz.
	Module = "github.com/bojand/ghz/cmd/ghz"
	// Pinned is the version of it.
	Pinned = "v0.93.0"
)

// Install returns the path of ghz: the one that is installed, or else one that the Go toolchain
// builds into dir, which must be empty.
func Install(ctx context.Context, dir string) (string, error) {
	if path, err := exec.LookPath(Program); err == nil {
		return path, nil
	}
	command := exec.CommandContext(ctx, "go", "install", Module+"@"+Pinned)
	command.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	command.SysProcAttr = process.Orphanless()
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s cannot be built: %w: %s", Module, err, bytes.TrimSpace(out))
	}
	return filepath.Join(dir, Program), nil
}

// Version is the version of a ghz that the Go toolchain built, as Install has it do; of another one
// what it says itself.
func Version(ctx context.Context, program string) string {
	if info, err := buildinfo.ReadFile(program); err == nil && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	// It is said on the standard error.
	out, err := exec.CommandContext(ctx, program, "--version").CombinedOutput()
	if said := strings.TrimSpace(string(out)); err == nil && said != "" {
		return said
	}
	return "unknown"
}

// Load is what one run does.
type Load struct {
	Program  string // the path of ghz
	Protoset string // a file that WriteProtoset wrote
	Address  string // host:port, plain text
	Call     string // package.Service/Method
	Data     any    // the request; it is written as JSON
	Clients  int    // each waits for its reply before it asks again, over a connection of its own
	Length   time.Duration
}

// Result is what one run measured.
type Result struct {
	Rate     float64       // requests a second
	P50, P99 time.Duration // from a request to its reply
}

// Run runs the load. A request that fails ends it with an error.
func (l Load) Run(ctx context.Context) (Result, error) {
	data, err := json.Marshal(l.Data)
	if err != nil {
		return Result{}, err
	}
	clients := strconv.Itoa(l.Clients)
	args := []string{
		"--insecure", "--protoset", l.Protoset, "--call", l.Call, "--data", string(data), "--concurrency", clients, "--connections", clients,
		"--duration", l.Length.String(), "--duration-stop", "wait", "--format", "json", l.Address,
	}
	command := exec.CommandContext(ctx, l.Program, args...)
	command.SysProcAttr = process.Orphanless()
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return Result{}, fmt.Errorf("%s %s: %w: %s", Program, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	r, err := Parse(bytes.NewReader(out))
	if err != nil {
		return Result{}, fmt.Errorf("%s %s: %w", Program, strings.Join(args, " "), err)
	}
	return r, nil
}

// most is above whatever is measured.
const most = 1e12

// Parse reads the output of ghz --format json.
func Parse(in io.Reader) (Result, error) {
	var out struct {
		Rps                 float64
		Count               int64
		ErrorDistribution   map[string]int64
		LatencyDistribution []struct {
			Percentage int
			Latency    time.Duration
		}
	}
	if err := json.NewDecoder(in).Decode(&out); err != nil {
		return Result{}, fmt.Errorf("its output is not the JSON that was expected: %w", err)
	}
	for what, n := range out.ErrorDistribution {
		return Result{}, fmt.Errorf("%d of %d requests failed, with %q", n, out.Count, what)
	}
	r := Result{Rate: out.Rps}
	for _, p := range out.LatencyDistribution {
		switch p.Percentage {
		case 50:
			r.P50 = p.Latency
		case 99:
			r.P99 = p.Latency
		}
	}
	if !(r.Rate > 0 && r.Rate <= most) || r.P50 <= 0 || r.P99 < r.P50 {
		return Result{}, errors.New("its output names no rate, or no p50 and p99")
	}
	return r, nil
}

// WriteProtoset writes the description of the services in a file of this program's protocol
// buffers, with all that it imports, as ghz reads it.
func WriteProtoset(to string, file protoreflect.FileDescriptor) error {
	var set descriptorpb.FileDescriptorSet
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor) error
	add = func(f protoreflect.FileDescriptor) error {
		if seen[f.Path()] {
			return nil
		}
		seen[f.Path()] = true
		described := protodesc.ToFileDescriptorProto(f)
		for i := range f.Imports().Len() { // what is imported comes first
			imported, err := resolve(f.Imports().Get(i).FileDescriptor)
			if err != nil {
				return fmt.Errorf("%s: %w", f.Path(), err)
			}
			described.Dependency[i] = imported.Path()
			if err := add(imported); err != nil {
				return err
			}
		}
		set.File = append(set.File, described)
		return nil
	}
	if err := add(file); err != nil {
		return err
	}
	b, err := proto.Marshal(&set)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}

// resolve is the file itself where only its path is known. etcd's files are imported by a path from
// the repository's root, and known to a program by their names alone.
func resolve(f protoreflect.FileDescriptor) (protoreflect.FileDescriptor, error) {
	if !f.IsPlaceholder() {
		return f, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path.Base(f.Path()))
}
