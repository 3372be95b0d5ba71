// Command fuzzall fuzzes every fuzz target of the module for the same time each, several at once,
// and says how many failed.
//
//	go run ./internal/fuzzall -time 60s
//	go run ./internal/fuzzall -time 2s ./daemon/...
//	go run ./internal/fuzzall -table
//
// The program of a package's tests is built once and runs all its targets: `go test -fuzz` would
// build it for each. What is behind a tag is fuzzed too. A finding is kept below testdata/fuzz of
// its package and fails `go test` from then on; what only widens the coverage is kept in Go's
// cache, as with `go test -fuzz`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/flakeward/flakeward/internal/tool"
)

func main() { tool.Main("fuzzall", run) }

var errFailed = errors.New("not all targets passed; see above")

func run(ctx context.Context, args []string, out, _ io.Writer) error {
	flags := flag.NewFlagSet("fuzzall", flag.ContinueOnError)
	each := flags.Duration("time", time.Minute, "how long each target is fuzzed")
	most := flags.Int("p", 2, "how many targets are fuzzed at once, each by one process")
	show := flags.Bool("table", false, "print what is read from outside and what fuzzes it, in Markdown, and fuzz nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *show {
		return printTable(out)
	}
	if *each <= 0 || *most < 1 {
		return fmt.Errorf("-time %v or -p %d: take a time above 0 and at least 1", *each, *most)
	}
	patterns := flags.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	packages, err := targets(ctx, patterns)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "fuzzall")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // programs, which nobody wants any more
	cache, err := output(ctx, "env", "GOCACHE")
	if err != nil {
		return err
	}
	f := fuzzing{each: *each, dir: dir, cache: filepath.Join(strings.TrimSpace(cache), "fuzz"), out: out}
	f.all(ctx, packages, *most)
	fmt.Fprintf(out, "%d targets fuzzed for %v each, %d failed\n", f.fuzzed, *each, f.failed)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f.failed > 0 {
		return errFailed
	}
	return nil
}

// fuzzing is one run over all targets.
type fuzzing struct {
	each       time.Duration
	dir, cache string

	mu             sync.Mutex
	out            io.Writer
	fuzzed, failed int
}

// all builds and fuzzes. A package is built while targets of others are fuzzed. Packages are built
// one after the other: what several of them need would else be compiled by each.
func (f *fuzzing) all(ctx context.Context, packages []pkg, most int) {
	slots := make(chan struct{}, most)
	var group sync.WaitGroup
	for i, p := range packages {
		program := filepath.Join(f.dir, fmt.Sprintf("%d.test", i))
		said, err := f.build(ctx, p, program)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			f.report(p.path, "", said, err)
			continue
		}
		for _, target := range p.targets {
			group.Go(func() {
				select {
				case slots <- struct{}{}:
				case <-ctx.Done():
					return
				}
				said, err := f.fuzz(ctx, p, program, target)
				if err != nil && outOfTime(said) {
					said, err = f.fuzz(ctx, p, program, target)
				}
				<-slots
				if ctx.Err() == nil {
					f.report(p.path, target, said, err)
				}
			})
		}
	}
	group.Wait()
}

func (f *fuzzing) build(ctx context.Context, p pkg, program string) (said string, err error) {
	c := command(ctx, "go", "test", "-c", "-tags", tags, "-fuzz", ".", "-o", program, p.path)
	b, err := c.CombinedOutput()
	return string(b), err
}

// slack is how much longer than it was told a target may take: it first runs all that is in its
// corpus.
const slack = 2 * time.Minute

// shorter bounds how often an input is tried to be made shorter. By itself a fuzzer spends a minute
// on each that widens the coverage, if what the input covers is not the same each time: all the
// time there is.
const shorter = "100x"

func (f *fuzzing) fuzz(ctx context.Context, p pkg, program, target string) (said string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.each+slack, fmt.Errorf("it did not end %v after its time", slack))
	defer cancel()
	c := command(ctx, program, "-test.run=^$", "-test.fuzz=^"+target+"$", "-test.fuzztime="+f.each.String(),
		"-test.parallel=1", "-test.fuzzminimizetime="+shorter, "-test.fuzzcachedir="+filepath.Join(f.cache, filepath.FromSlash(p.path)))
	c.Dir = p.dir
	b, err := c.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return string(b), err
}

// outOfTime reports whether a fuzzer failed by nothing but the end of its own time, as that of Go
// before 1.27 may when processors are busy (go.dev/issue/75804): it has found nothing, and tried
// less than it could.
func outOfTime(said string) bool {
	_, failure, failed := strings.Cut(said, "--- FAIL: ")
	_, failure, _ = strings.Cut(failure, "\n")
	return failed && !strings.Contains(said, "Failing input") && strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(failure), "FAIL")) == "context deadline exceeded"
}

// command is one that ends by itself when it is interrupted.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	return c
}

// report says how it went with a target, or with a package that was not built.
func (f *fuzzing) report(path, target, said string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if target != "" {
		f.fuzzed++
	}
	if err == nil {
		fmt.Fprintf(f.out, "ok    %s %s%s\n", path, target, executions(said))
		return
	}
	f.failed++
	fmt.Fprintf(f.out, "FAIL  %s: %v\n", strings.TrimSpace(path+" "+target), err)
	for line := range strings.Lines(said) {
		fmt.Fprint(f.out, "      ", strings.TrimSuffix(line, "\n"), "\n")
	}
}

// executions is how many inputs the last line of a fuzzer's progress tells.
func executions(said string) string {
	at := strings.LastIndex(said, "execs: ")
	if at < 0 {
		return ""
	}
	n, _, _ := strings.Cut(said[at+len("execs: "):], " ")
	return ", " + n + " inputs"
}
