package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if builtIn != "" {
		_ = os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

var builtIn string // where the daemon was built, if it was

var daemonBinary = sync.OnceValues(func() (binary string, err error) {
	if builtIn, err = os.MkdirTemp("", "stress-"); err != nil {
		return "", err
	}
	return process.Build(context.Background(), builtIn)
})

func buildDaemon(t *testing.T) string {
	t.Helper()
	binary, err := daemonBinary()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// shortDir is a directory whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir := sockettest.Dir(t)
	return filepath.Join(dir, "host")
}

// TestKillStress is the short form of `go run ./e2e/stress -only kill`: no times are asserted.
func TestKillStress(t *testing.T) {
	const kills, ids = 8, 300_000
	o, err := parse(nil, io.Discard) // a random seed
	if err != nil {
		t.Fatal(err)
	}
	tt, err := newStress(t.Context(), stressConfig{
		Binary:  buildDaemon(t),
		Dir:     shortDir(t),
		Seed:    o.seed,
		Clients: 4,
		Plan:    plan(newRandom(o.seed), kills, ids),
		IDs:     ids,
		Flags:   []string{"--journal-step", "200ms"}, // so that restarts wait less
		Log:     t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := tt.run(t.Context())
	found.print(t.Output(), 0)
	if err != nil {
		t.Fatalf("seed %d: %v", o.seed, err)
	}
	if err := found.verdict(0); err != nil {
		t.Error(err)
	}
	if found.Kills != kills || found.StartKills != 1 || found.Stops != 2 || found.StepsBefore != kills/4 || found.StepsDuring != kills/4 {
		t.Errorf("the plan was not carried out: %+v", found)
	}
	if found.Duplicates.IDs < ids || found.Verdict.Marked == 0 {
		t.Errorf("%d IDs were compared with each other and %d with a mark: too few to show anything", found.Duplicates.IDs, found.Verdict.Marked)
	}
	if c := found.Counts; c.Singles == 0 || c.Batches == 0 || c.Runs == 0 {
		t.Errorf("not every kind of request was among them: %+v", c)
	}
}

// TestRollbackUnderLoad sets the clock back under load and looks at the guard's answers: no times
// are asserted.
func TestRollbackUnderLoad(t *testing.T) {
	const rate = 20_000
	var r rollbacks
	if err := r.measure(t.Context(), buildDaemon(t), shortDir(t), rate, "--max-block", "1m"); err != nil { // the disk may be slow
		t.Fatal(err)
	}
	r.print(t.Output(), rate)
	if err := r.verdict(); err != nil {
		t.Error(err)
	}
	if r.refused > 0 || r.ids < rate {
		t.Errorf("%d IDs, %d requests refused", r.ids, r.refused)
	}
}

func TestPlan(t *testing.T) {
	const kills, ids = 50, 20_000_000
	for seed := range uint64(100) {
		lives := plan(newRandom(seed), kills, ids)
		var f findings
		var offset time.Duration
		var after uint64
		for _, l := range lives {
			f.note(l, served{})
			if l.Step == notStepped && l.Offset != offset {
				t.Fatalf("seed %d: the clock moves from %v to %v without a step", seed, offset, l.Offset)
			}
			if offset = l.Offset; offset < lowestOffset || offset > highestOffset {
				t.Fatalf("seed %d: the clock is off by %v", seed, offset)
			}
			if l.End == killedUnderLoad {
				after += l.After
			}
			if l.End != killedAtStart && l.After == 0 || l.End == killedAtStart && l.At == "" {
				t.Fatalf("seed %d: a life without a time to end it: %+v", seed, l)
			}
		}
		if f.Kills != kills || f.Stops != 2 || f.StepsBefore+f.StepsDuring != kills/2 || f.StepsBefore < kills/4 || f.StepsDuring < kills/4 {
			t.Fatalf("seed %d: %+v", seed, f)
		}
		if lives[len(lives)-1].End != stopped {
			t.Fatalf("seed %d: the last life is %+v", seed, lives[len(lives)-1])
		}
		if after < ids/2 || after > ids*3/2 {
			t.Fatalf("seed %d: the lives get %d IDs, far from %d", seed, after, ids)
		}
	}
}

// TestVerdict looks at each violation by itself: it must fail the run and be in the table.
func TestVerdict(t *testing.T) {
	sound := func() findings {
		return findings{Kills: 50, Duplicates: received.Duplicates{IDs: 0}, restarts: []restart{{took: time.Second}, {took: 2 * time.Second, life: 7}}}
	}
	for _, tt := range []struct {
		name string
		harm func(*findings)
		want string
	}{
		{"sound", func(*findings) {}, ""},
		{"duplicate", func(f *findings) { f.Duplicates.Repeated = 1 }, "1 duplicates"},
		{"above the mark", func(f *findings) { f.Verdict.AboveMark = 2 }, "2 violations"},
		{"unanswered", func(f *findings) { f.Unanswered = 3 }, "3 accepted requests"},
		{"half a reply", func(f *findings) { f.Torn = 1 }, "half-sent"},
		{"wrong reply", func(f *findings) { f.Wrong = []string{"x"} }, "1 replies"},
		{"evidence lost", func(f *findings) { f.Counts.Singles = 1 }, "not whole"},
		{"slow restart", func(f *findings) { f.restarts[0].took = 4 * time.Second }, "took 4s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := sound()
			tt.harm(&f)
			err := f.verdict(3 * time.Second)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want something with %q", err, tt.want)
			}
		})
	}
	f := sound()
	f.restarts[1].took = time.Hour
	if err := f.verdict(0); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

func TestParseAnswers(t *testing.T) {
	text := "# Guard\r\nanswered_sleep:1\r\nanswered_ring:22\r\nanswered_release:3\r\nanswered_backfill:0\r\nanswered_wait:5\r\n"
	got, err := parseAnswers(text)
	if want := (answers{1, 22, 3, 0, 5}); got != want || err != nil {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, broken := range []string{"", strings.Replace(text, "ring", "wring", 1), strings.Replace(text, ":22", ":x", 1)} {
		if got, err := parseAnswers(broken); err == nil {
			t.Errorf("%q: %+v", broken, got)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{"-kills", "0"}, {"-only", "x"}, {"-ids", "0"}, {"-clients", "0"}, {"-rate", "-1"}, {"-repeat", "0"}, {"more"}, {"-x"}} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%q was understood", args)
		}
	}
	if o, err := parse([]string{"-seed", "7"}, io.Discard); err != nil || o.seed != 7 || o.kills != 50 || o.ids != 20_000_000 {
		t.Errorf("%+v, %v", o, err)
	}
}
