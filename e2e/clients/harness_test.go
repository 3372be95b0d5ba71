package clients

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
	"github.com/flakeward/flakeward/internal/wire"
)

var long = flag.Bool("long", false, "20 kills and 10 updates of the daemon, and the figures of each client")

// program is the daemon as users have it.
var program, withProgram = process.Once(process.BuildNormal)

func TestMain(m *testing.M) { os.Exit(withProgram(m.Run)) }

// interpreter is the path of a language's program.
func interpreter(t *testing.T, name string) string {
	t.Helper()
	return need.Program(t, name, "scripts/need clients")
}

// file is the absolute path of a file below this directory. A cached result of `go test` is of the
// file as it is.
func file(t *testing.T, path ...string) string {
	t.Helper()
	whole := must.Get(filepath.Abs(filepath.Join(path...)))(t)
	must.Get(os.Stat(whole))(t)
	return whole
}

// host is where daemons run one after the other, in a cluster of its own on a real etcd. Each of
// them takes over from one that runs.
func host(t *testing.T, flags ...string) *process.Host {
	t.Helper()
	daemon := must.Get(program())(t)
	etcd := etcdtest.Start(t, etcdtest.Options{})
	flags = append([]string{"--coord", etcd.URL("clients"), "--takeover"}, flags...)
	return must.Get(process.NewHost(daemon, filepath.Join(sockettest.Dir(t), "h"), flags...))(t)
}

// start starts a daemon and returns when it serves.
func start(t *testing.T, h *process.Host) *process.Daemon {
	t.Helper()
	d := must.Get(h.Start(t.Context()))(t)
	t.Cleanup(func() { <-d.Ended() }) // it ends with the context, and its directory is removed next
	must.Do(t, d.Await(t.Context(), "ready"))
	return d
}

// driver is a language's driver; the package's comment says what it does.
type driver struct {
	language string
	command  []string
}

// figure is what a driver says at its end.
type figure struct {
	line         string
	perS, errors int64
}

var figures = regexp.MustCompile(`(?m)^FIGURE \S+ threads=\d+ ids_per_s=\d+ p99_ns=\d+ errors=\d+\s*\z`)

// run runs the driver to its end.
func (d driver) run(ctx context.Context, socket, out string, threads, seconds int) (figure, error) {
	args := append(d.command[1:len(d.command):len(d.command)], socket, out, strconv.Itoa(threads), strconv.Itoa(seconds))
	c := exec.CommandContext(ctx, d.command[0], args...)
	c.SysProcAttr = process.Orphanless()
	var said, wrong bytes.Buffer
	c.Stdout, c.Stderr = &said, &wrong
	if err := c.Run(); err != nil {
		return figure{}, fmt.Errorf("the driver of %s: %w\n%s%s", d.language, err, &said, &wrong)
	}
	f := figure{line: strings.TrimSpace(figures.FindString(said.String()))}
	var p99 int64
	if _, err := fmt.Sscanf(f.line, fmt.Sprintf("FIGURE %s threads=%d ids_per_s=%%d p99_ns=%%d errors=%%d", d.language, threads), &f.perS, &p99, &f.errors); err != nil {
		return figure{}, fmt.Errorf("the driver of %s says no figure: %w\n%s%s", d.language, err, &said, &wrong)
	}
	return f, nil
}

// loadAverage is the machine's load average, which each figure has beside it.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// tests runs a program that tests a client, with FLAKEWARD_SOCKET as the socket of a daemon.
func tests(t *testing.T, command []string) {
	t.Helper()
	h := host(t)
	start(t, h)
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Env = append(os.Environ(), "FLAKEWARD_SOCKET="+h.Socket)
	c.SysProcAttr = process.Orphanless()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// issued is how many IDs the daemon on a socket has issued since its start.
func issued(ctx context.Context, socket string) (int64, error) {
	text, err := load.Ask(ctx, socket, (*wire.Reader).Bulk, "INFO", "stats")
	if err != nil {
		return 0, err
	}
	n, _ := info.Parse(text).Get("total_ids_issued")
	return strconv.ParseInt(n, 10, 64)
}

// progress waits until the daemon that serves has issued more IDs than before.
func progress(ctx context.Context, socket string) error {
	const more = 1000
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for first := int64(-1); ; {
		n, err := issued(ctx, socket)
		switch {
		case err != nil:
			return err
		case first < 0:
			first = n
		case n >= first+more:
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("nobody takes IDs: %w", context.Cause(ctx))
		}
	}
}

// throughKillsAndUpdates has the daemon killed and updated while the driver takes IDs, and judges
// all IDs. A driver whose time is over before the last fault is followed by another.
func throughKillsAndUpdates(t *testing.T, d driver) {
	t.Helper()
	h := host(t)
	daemon := start(t, h)
	kills, updates, threads, seconds := 2, 1, 4, 4
	if *long {
		kills, updates, threads, seconds = 20, 10, 8, 10
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	faults := make(chan struct{}) // closed after the last
	dir := t.TempDir()
	var rounds []figure
	var running sync.WaitGroup
	running.Go(func() {
		for {
			f, err := d.run(ctx, h.Socket, filepath.Join(dir, strconv.Itoa(len(rounds))), threads, seconds)
			if err != nil {
				cancel(err)
				return
			}
			rounds = append(rounds, f)
			select {
			case <-faults:
				return
			default:
			}
		}
	})
	killed, updated := 0, 0
	for killed < kills || updated < updates {
		must.Do(t, progress(ctx, h.Socket))
		if killed < kills && (updated >= updates || killed <= 2*updated) {
			must.Do(t, daemon.Kill())
			daemon = start(t, h)
			killed++
			continue
		}
		next := start(t, h)
		<-daemon.Ended()
		daemon = next
		updated++
	}
	must.Do(t, progress(ctx, h.Socket))
	close(faults)
	running.Wait()
	must.Do(t, context.Cause(ctx))
	ids := must.Get(judge(dir, len(rounds)*threads))(t)
	for _, f := range rounds {
		t.Log(f.line)
	}
	t.Logf("FIGURE %s: %d kills and %d updates of the daemon, %d IDs, each once; load %s", d.language, kills, updates, ids, loadAverage())
}

// judge reads the IDs that threads recorded in a directory, and returns how many there are. It is
// an error if those of a thread do not rise, or one came twice.
func judge(dir string, threads int) (int, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil || len(files) != threads {
		return 0, fmt.Errorf("%d threads recorded IDs, want %d: %v", len(files), threads, err)
	}
	var all []int64
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil || len(text) == 0 || len(text)%8 != 0 {
			return 0, fmt.Errorf("%s has %d bytes: %v", path, len(text), err)
		}
		all = slices.Grow(all, len(text)/8)
		for last := int64(0); len(text) > 0; text = text[8:] {
			id := int64(binary.BigEndian.Uint64(text))
			if id <= last {
				return 0, fmt.Errorf("%s has %d after %d", path, id, last)
			}
			all, last = append(all, id), id
		}
	}
	if d := received.FindDuplicates(all); d.Repeated != 0 {
		return 0, fmt.Errorf("%d of %d IDs came before: %d", d.Repeated, d.IDs, d.Examples)
	}
	return len(all), nil
}

// A repeated ID of another thread is found, and so is one that falls, one that was cut off, and a
// thread that recorded nothing.
func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name    string
		threads [][]int64
		more    string
		want    string
	}{
		{"good", [][]int64{{1, 3, 1 << 60}, {2, 4}}, "", ""},
		{"twice", [][]int64{{1, 3, 5}, {2, 3}}, "", "1 of 5 IDs came before: [3]"},
		{"fell", [][]int64{{1, 5, 3}, {2}}, "", "3 after 5"},
		{"cut off", [][]int64{{1}, {2}}, "x", "9 bytes"},
		{"nothing", [][]int64{{1}, {}}, "", "0 bytes"},
		{"missing", [][]int64{{1}}, "", "1 threads recorded IDs, want 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, n := t.TempDir(), 0
			for i, ids := range tt.threads {
				text := []byte(nil)
				for _, id := range ids {
					text = binary.BigEndian.AppendUint64(text, uint64(id))
				}
				must.Do(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("0.%d", i)), append(text, tt.more...), 0o600))
				n += len(ids)
			}
			got, err := judge(dir, 2)
			if tt.want == "" && (err != nil || got != n) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%d IDs, %v; want %d, %q", got, err, n, tt.want)
			}
		})
	}
}

// measure shows how fast a client hands out IDs that nobody records: the best of seven.
func measure(t *testing.T, d driver) {
	t.Helper()
	if !*long {
		t.Skip("the figures want an idle machine: -long")
	}
	h := host(t)
	start(t, h)
	for _, threads := range []int{1, 8} {
		var best figure
		for range 7 {
			f := must.Get(d.run(t.Context(), h.Socket, "-", threads, 2))(t)
			t.Log(f.line, "load", loadAverage())
			if f.errors > 0 {
				t.Errorf("%d errors", f.errors)
			}
			if f.perS > best.perS {
				best = f
			}
		}
		t.Logf("best of seven: %s; load %s", best.line, loadAverage())
	}
}

// example writes the program of docs/clients.md in a language to a file in dir.
func example(t *testing.T, language, dir, name string) string {
	t.Helper()
	page := string(must.Get(os.ReadFile(filepath.Join("..", "..", "docs", "clients.md")))(t))
	_, text, found := strings.Cut(page, "\n```"+language+"\n")
	text, _, ends := strings.Cut(text, "\n```\n")
	if !found || !ends {
		t.Fatalf("docs/clients.md has no program in %s", language)
	}
	path := filepath.Join(dir, name)
	must.Do(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
	return path
}

// says runs an example, whose last argument is the socket of a daemon or of none.
func says(t *testing.T, socket string, command ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], append(command[1:], socket)...)
	c.SysProcAttr = process.Orphanless()
	return string(must.Get(c.CombinedOutput())(t))
}
