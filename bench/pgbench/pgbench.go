// Package pgbench runs pgbench, the load generator that comes with PostgreSQL, and throwaway
// PostgreSQL servers for it.
package pgbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/internal/process"
)

// Load is what one run does.
type Load struct {
	Clients int           // connections, 1 or more
	SQL     string        // the request, a statement; it is prepared once for each connection
	Length  time.Duration // rounded up to whole seconds
}

// Result is what one run measured.
type Result struct {
	Rate float64       // requests a second, the time to connect not counted
	Mean time.Duration // from a request to its reply, on average; pgbench gives no percentiles
}

// Run runs the load on the cluster. A statement that fails ends it with an error.
func (c *Cluster) Run(ctx context.Context, l Load) (Result, error) {
	script := filepath.Join(c.dir, "script.sql")
	if err := os.WriteFile(script, []byte(l.SQL+";\n"), 0o644); err != nil {
		return Result{}, err
	}
	seconds := int((l.Length + time.Second - 1) / time.Second)
	args := []string{
		"-h", c.dir, "-U", superuser, "-n", "-M", "prepared", "-f", script,
		"-c", strconv.Itoa(l.Clients), "-j", strconv.Itoa(min(l.Clients, 2)), "-T", strconv.Itoa(seconds), database,
	}
	command := exec.CommandContext(ctx, c.program("pgbench"), args...)
	command.SysProcAttr = process.Orphanless()
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return Result{}, fmt.Errorf("pgbench %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	r, err := Parse(bytes.NewReader(out))
	if err != nil {
		return Result{}, fmt.Errorf("pgbench %s: %w", strings.Join(args, " "), err)
	}
	return r, nil
}

// most is above whatever is measured, and within what times can hold.
const most = 1e12

// Parse reads what pgbench prints at its end (version 14 or later).
func Parse(in io.Reader) (Result, error) {
	text, err := io.ReadAll(io.LimitReader(in, 1<<20))
	if err != nil {
		return Result{}, err
	}
	var r Result
	var mean float64
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		count, failed := strings.CutPrefix(strings.TrimSpace(line), "number of failed transactions: ")
		switch {
		case failed && !strings.HasPrefix(count, "0 "):
			return Result{}, fmt.Errorf("it says that some statements failed: %q", line)
		case name == "latency average":
			mean, err = number(strings.TrimSuffix(value, " ms"))
		case name == "tps" && strings.HasSuffix(value, "(without initial connection time)"):
			r.Rate, err = number(strings.TrimSpace(strings.TrimSuffix(value, "(without initial connection time)")))
		}
		if err != nil {
			return Result{}, fmt.Errorf("the line %.80q of its output: %w", line, err)
		}
	}
	if r.Rate == 0 || mean == 0 {
		return Result{}, errors.New("its output names no rate or no latency: install PostgreSQL 14 or later")
	}
	r.Mean = time.Duration(mean * float64(time.Millisecond))
	return r, nil
}

func number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= most) {
		return 0, fmt.Errorf("%q is no measurement", text)
	}
	return v, nil
}
