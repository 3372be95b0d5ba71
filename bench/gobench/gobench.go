// Package gobench runs the benchmarks of a Go package and reads what they measured.
package gobench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/internal/process"
)

// Run says which benchmarks to run, and how. They run in turn, A B C A B C and so on, so that
// values of the same place in Results were measured close to each other.
type Run struct {
	Dir     string        // for the test program; it must exist
	Package string        // import path
	Pattern string        // of the benchmarks' names, as for go test -bench
	Count   int           // how often each; below 1: once
	For     time.Duration // how long each
	Env     []string      // more variables, each as name=value
}

// Results are all values by benchmark and unit, in the order measured. A benchmark's
// name is without the number of processors that go test appends.
type Results map[string]map[string][]float64

// Do builds the package's test program and runs the benchmarks.
func (r Run) Do(ctx context.Context) (Results, error) {
	// Not by go test itself: of that, only the parent would end with ctx.
	program := filepath.Join(r.Dir, "bench.test")
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, r.Package).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build the tests of %s: %w\n%s", r.Package, err, out)
	}
	all := make(Results)
	for range max(r.Count, 1) {
		command := exec.CommandContext(ctx, program, "-test.run=^$", "-test.bench="+r.Pattern, "-test.benchtime="+r.For.String())
		command.Dir = r.Dir
		command.Env = append(os.Environ(), r.Env...)
		command.SysProcAttr = process.Orphanless()
		out, err := command.CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("the benchmarks of %s: %w\n%s", r.Package, err, out)
		}
		got, err := Parse(bytes.NewReader(out))
		if err != nil {
			return nil, err
		}
		all.add(got)
	}
	return all, nil
}

// add appends the values of another round.
func (r Results) add(more Results) {
	for benchmark, units := range more {
		if r[benchmark] == nil {
			r[benchmark] = make(map[string][]float64)
		}
		for unit, values := range units {
			r[benchmark][unit] = append(r[benchmark][unit], values...)
		}
	}
}

// Most is the largest value in a unit of all these benchmarks, round by round. It is an error if
// they were not measured equally often.
func (r Results) Most(unit string, benchmarks ...string) ([]float64, error) {
	var most []float64
	for _, benchmark := range benchmarks {
		v, err := r.Values(benchmark, unit)
		switch {
		case err != nil:
			return nil, err
		case most == nil:
			most = slices.Clone(v)
		case len(v) != len(most):
			return nil, fmt.Errorf("%s was measured %d times, and another one %d times", benchmark, len(v), len(most))
		default:
			for i := range most {
				most[i] = max(most[i], v[i])
			}
		}
	}
	return most, nil
}

// Parse reads the output of go test -bench: lines of a name, a count of iterations and
// pairs of a value and its unit (golang.org/design/14313-benchmark-format). Other
// lines are passed over.
func Parse(in io.Reader) (Results, error) {
	results := make(Results)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		if _, err := strconv.ParseUint(fields[1], 10, 64); err != nil {
			continue
		}
		name := withoutProcessors(fields[0])
		for pair := fields[2:]; len(pair) >= 2; pair = pair[2:] {
			v, err := strconv.ParseFloat(pair[0], 64)
			if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
				return nil, fmt.Errorf("%s: %q is no measurement, in the line %q", name, pair[0], lines.Text())
			}
			if results[name] == nil {
				results[name] = make(map[string][]float64)
			}
			results[name][pair[1]] = append(results[name][pair[1]], v)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, errors.New("no benchmark ran: has it another name by now?")
	}
	return results, nil
}

// withoutProcessors takes the -8 from BenchmarkTake-8.
func withoutProcessors(name string) string {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return name
	}
	if _, err := strconv.Atoi(name[i+1:]); err != nil {
		return name
	}
	return name[:i]
}

// Values are what a benchmark measured in a unit, one value for each time it ran.
func (r Results) Values(benchmark, unit string) ([]float64, error) {
	v := r[benchmark][unit]
	if len(v) == 0 {
		return nil, fmt.Errorf("%s has measured no %s: has it another name by now?", benchmark, unit)
	}
	return v, nil
}
