// Package redisbench runs redis-benchmark, the load generator that comes with Redis,
// against a Unix socket and reads what it measured.
package redisbench

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/internal/process"
)

// Program is the name of the executable.
const Program = "redis-benchmark"

// Load is what one run does.
type Load struct {
	Socket   string
	Clients  int // connections, 1 or more
	Pipeline int // requests that each connection sends at once, 1 or more
	Requests int // in all
	Command  []string
}

// Result is what one run measured.
type Result struct {
	Rate     float64       // requests a second
	P50, P99 time.Duration // from a request to its reply
}

// Run runs the load. A server that answers any request with an error ends the run
// with an error: no refusal is counted as a reply.
func Run(ctx context.Context, l Load) (Result, error) {
	args := append([]string{
		"-s", l.Socket,
		"-c", strconv.Itoa(l.Clients),
		"-P", strconv.Itoa(l.Pipeline),
		"-n", strconv.Itoa(l.Requests),
		"--csv",
	}, l.Command...)
	command := exec.CommandContext(ctx, Program, args...)
	command.SysProcAttr = process.Orphanless()
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return Result{}, fmt.Errorf("%s %s: %w: %s", Program, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	r, err := parse(bytes.NewReader(out))
	if err != nil {
		return Result{}, fmt.Errorf("%s %s: %w", Program, strings.Join(args, " "), err)
	}
	return r, nil
}

// parse reads the output of redis-benchmark --csv with one test in it: a line with
// the names of the columns (since version 6.2) and a line of values.
func parse(in io.Reader) (Result, error) {
	lines, err := csv.NewReader(in).ReadAll()
	if err != nil {
		return Result{}, fmt.Errorf("its output is no CSV: %w", err)
	}
	if len(lines) != 2 || !slices.Contains(lines[0], "rps") {
		return Result{}, errors.New("its output is not a line of names and one of values: install redis-tools 6.2 or later")
	}
	var rate, p50, p99 float64
	for column, value := range map[string]*float64{"rps": &rate, "p50_latency_ms": &p50, "p99_latency_ms": &p99} {
		i := slices.Index(lines[0], column)
		if i < 0 {
			return Result{}, fmt.Errorf("its output has no column %q", column)
		}
		if *value, err = strconv.ParseFloat(lines[1][i], 64); err != nil {
			return Result{}, fmt.Errorf("its column %q: %w", column, err)
		}
	}
	if rate == 0 {
		return Result{}, errors.New("it says that there were no requests")
	}
	return Result{Rate: rate, P50: milliseconds(p50), P99: milliseconds(p99)}, nil
}

func milliseconds(v float64) time.Duration {
	return time.Duration(math.Round(v * float64(time.Millisecond)))
}
