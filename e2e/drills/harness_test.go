//go:build e2e

package drills

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/e2e/report"
	"github.com/flakeward/flakeward/generator"
)

func TestGateManyOrOne(t *testing.T) {
	g := newGate()
	ctx := t.Context()
	over, cancel := context.WithCancelCause(ctx)
	cancel(errInterrupted)

	first, err := g.enter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	second, err := g.enter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := g.alone(over); !errors.Is(err, errInterrupted) {
		t.Fatalf("one is alone with two others: %v", err)
	}
	first()
	second()
	inside, release, err := g.alone(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.enter(over); !errors.Is(err, errInterrupted) {
		t.Errorf("another entered where one is alone: %v", err)
	}
	gone, leave := context.WithCancel(inside) // or it would wait for itself
	leave()
	if again, err := g.enter(gone); err != nil {
		t.Fatalf("one who is alone cannot do anything: %v", err)
	} else {
		again()
	}
	if _, _, err := g.alone(over); !errors.Is(err, errInterrupted) {
		t.Errorf("two are alone: %v", err)
	}
	release()
	holding, release, err := g.hold(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.enter(holding); err != nil {
		t.Errorf("who is inside has to wait to enter: %v", err)
	}
	release()
	// What was given up left nothing behind.
	if _, release, err = g.alone(ctx); err != nil {
		t.Fatal(err)
	}
	release()
}

// What must not fail ends a script with its error; a panic is told with where it came from.
func TestScriptsEnd(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		script func(ctx context.Context, r *Run)
		want   string
		logged bool
	}{
		"well":  {func(context.Context, *Run) { must(nil); mustGet(1, nil) }, "", false},
		"must":  {func(context.Context, *Run) { must(broken); t.Error("it goes on") }, "broken", false},
		"value": {func(context.Context, *Run) { mustGet(1, broken); t.Error("it goes on") }, "broken", false},
		"fail":  {func(context.Context, *Run) { fail("void: %w", broken) }, "void: broken", false},
		"panic": {func(context.Context, *Run) { panic("a bug") }, "panic: a bug", true},
	} {
		logged := false
		r := &Run{options: Options{Limit: time.Minute}, log: func(string, ...any) { logged = true }}
		err := r.script(t.Context(), Drill{Script: tt.script})
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want || logged != tt.logged {
			t.Errorf("%s: %v, logged: %v", name, err, logged)
		}
	}
}

func reply(asking evidence.Asking, asked, answered int, outcome evidence.Outcome) evidence.Reply {
	r := evidence.Reply{Asking: asking, Asked: evidence.Mono(asked), Answered: evidence.Mono(answered), Outcome: outcome}
	if outcome == evidence.Got {
		r.IDs = []evidence.Run{{First: int64(asked), Step: 1, N: 2}}
	}
	return r
}

func TestLongestStall(t *testing.T) {
	const single, batch, got, refused = evidence.Single, evidence.Batch, evidence.Got, evidence.Refused
	for _, tt := range []struct {
		name     string
		replies  []evidence.Reply
		from, to evidence.Mono
		want     time.Duration
	}{
		{"nobody asked", nil, 0, 100, 0},
		{"all were served", []evidence.Reply{reply(single, 0, 2, got), reply(single, 10, 15, got), reply(single, 20, 21, got)}, 0, 100, 5},
		{"one failed, and the next was served", []evidence.Reply{reply(single, 0, 2, got), reply(single, 10, 15, refused), reply(single, 30, 32, got)}, 0, 100, 22},
		{"another way of asking does not end it", []evidence.Reply{reply(single, 10, 15, refused), reply(batch, 16, 17, got), reply(single, 30, 32, got)}, 0, 100, 22},
		{"it goes on to the end", []evidence.Reply{reply(single, 10, 15, refused), reply(single, 30, 32, refused)}, 0, 100, 90},
		{"only what lies within counts", []evidence.Reply{reply(single, 10, 90, got)}, 20, 50, 30},
		{"what lies before does not", []evidence.Reply{reply(single, 10, 19, got), reply(single, 20, 22, got)}, 20, 50, 2},
		{"what lies after does not", []evidence.Reply{reply(single, 60, 90, got)}, 20, 50, 0},
	} {
		if got := newHostResult("h", tt.replies).LongestStall(tt.from, tt.to); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestStallsCanBeTold(t *testing.T) {
	const limit = 30
	for _, tt := range []struct {
		name     string
		from, to evidence.Mono
		fails    int
	}{
		{"a stall below the limit", 0, 50, 0},
		{"a stall above the limit", 0, 100, 1},
		{"a window as long as the limit", 70, 100, 1},
		{"a window just longer than the limit, and all of it a stall", 69, 100, 1},
	} {
		h := newHostResult("h", []evidence.Reply{reply(evidence.Single, 0, 2, evidence.Got), reply(evidence.Single, 30, 100, evidence.Got)})
		res := &Result{Drill: &report.Drill{}, hosts: []*HostResult{h}}
		stalled(res, "longest stall", res.LongestStall, tt.from, tt.to, 10, limit)
		if len(res.failed) != tt.fails {
			t.Errorf("%s: %q, want %d failures", tt.name, res.failed, tt.fails)
		}
	}
	for _, s := range stepsBack {
		res := &Result{Drill: &report.Drill{}}
		if canTell(res, "a stall", s.watch, s.limit); len(res.failed) > 0 {
			t.Errorf("clock-back-%s: %q", s.name, res.failed)
		}
	}
	for what, window := range map[string]time.Duration{"settled": settled, "oscillateFor": oscillateFor} {
		if window <= busy {
			t.Errorf("%s is %v, and no stall within it is longer than busy, %v", what, window, busy)
		}
	}
}

func TestHostResult(t *testing.T) {
	h := newHostResult("h", []evidence.Reply{
		reply(evidence.Single, 30, 31, evidence.Refused), reply(evidence.Batch, 10, 50, evidence.Got), reply(evidence.Single, 20, 22, evidence.Got),
		reply(evidence.Single, 40, 41, evidence.Unsent),
	})
	if h.Replies[0].Asked != 10 || h.Replies[3].Asked != 40 {
		t.Errorf("not in the order of Asked: %v", h.Replies)
	}
	if r, ok := h.First(9); !ok || r.Asked != 20 {
		t.Errorf("the first after 9 is %v, %v", r, ok)
	}
	if r, ok := h.First(20); ok {
		t.Errorf("there is none after 20, and it is %v", r)
	}
	if n := h.IDs(10, 20); n != 2 {
		t.Errorf("%d IDs asked for from 10 until 20, want 2", n)
	}
	if n := len(h.Failed(0, endless)); n != 2 {
		t.Errorf("%d failed, want 2", n)
	}
	if failed := h.Failed(0, endless, evidence.Unsent); len(failed) != 1 || failed[0].Asked != 40 {
		t.Errorf("unsent: %v", failed)
	}
	if failed := h.Failed(31, 40); len(failed) != 0 {
		t.Errorf("failed from 31 until 40: %v", failed)
	}
}

func TestSigned(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "-1h", 150 * time.Millisecond: "+150ms", -90 * time.Minute: "-1h30m", 30 * time.Second: "+30s", 10 * time.Minute: "+10m",
		time.Hour + 5*time.Second: "+1h0m5s", -1500 * time.Millisecond: "-1.5s", 0: "+0s",
	} {
		if got := signed(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestFaultsThatLast(t *testing.T) {
	r := &Run{log: t.Logf}
	h := &Host{Name: "host-1", r: r, ends: map[string]func(){}}
	end := r.Fault("odd", h, &Host{Name: "host-2"})
	h.begin(fallen, "kill -9")
	end()
	first := r.noted(0)[0].Until
	end()
	faults := r.noted(endless)
	if len(faults) != 3 || faults[0].Until != first || faults[1].Host != "host-2" || faults[2].Until != endless {
		t.Errorf("%+v: want two that ended once, and one that lasts to the end", faults)
	}
	h.finish(fallen)
	if until := r.noted(endless)[2].Until; until == endless {
		t.Error("it did not end")
	}
}

func TestWatchReadsWhatIsAppended(t *testing.T) {
	dir := t.TempDir()
	w := startWatch(dir)
	log, err := evidence.CreateReplies(dir + "/1.replies")
	if err != nil {
		t.Fatal(err)
	}
	add := func(asked int, outcome evidence.Outcome) {
		t.Helper()
		if err := errors.Join(log.Add(reply(evidence.Single, asked, asked+1, outcome)), log.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	add(1, evidence.Got)
	if err := until(t.Context(), "the first", watchEvery, func() (bool, error) { _, n, _, err := w.seen(); return n == 2, err }); err != nil {
		t.Fatal(err)
	}
	got := make(chan evidence.Reply, 1)
	waiting := make(chan struct{})
	go func() {
		close(waiting)
		r, err := w.await(t.Context(), func(r evidence.Reply) bool { return r.Outcome == evidence.Refused && r.Asked >= 3 })
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	<-waiting
	add(2, evidence.Refused)
	add(3, evidence.Got)
	add(4, evidence.Refused)
	// The wait may begin after what it waits for has been read.
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for asked := 5; ; asked++ {
		select {
		case r := <-got:
			if r.Outcome != evidence.Refused || r.Asked < 3 {
				t.Errorf("%+v is not what was waited for", r)
			}
		case <-ticker.C:
			add(asked, evidence.Refused)
			continue
		}
		break
	}
	add(1000, evidence.Got)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	replies, err := w.end()
	if err != nil || replies[len(replies)-1].Asked != 1000 {
		t.Errorf("%v; the last that was read is %+v, want the last that was written", err, replies[len(replies)-1])
	}
}

func TestADamagedLogEndsTheWait(t *testing.T) {
	dir := t.TempDir()
	w := startWatch(dir + "/missing")
	if err := w.awaitIDs(t.Context(), 1); err == nil {
		t.Error("no error where nothing can be read")
	}
	if _, err := w.end(); err == nil {
		t.Error("no error at the end where nothing could be read")
	}
}

// TestEachDrillIsDocumented: the page that lists them is read more often than this.
func TestEachDrillIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "drills.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range registered {
		if !strings.Contains(string(page), "`"+d.Name+"`") {
			t.Errorf("docs/drills.md does not mention %s", d.Name)
		}
	}
	// A drill that is not registered any more fails nowhere else.
	_, list, _ := strings.Cut(string(page), "\n## The drills\n")
	list, _, _ = strings.Cut(list, "\n## ")
	listed := 0
	for line := range strings.Lines(list) {
		names, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !ok || !strings.HasPrefix(names, "`") {
			continue
		}
		for name := range strings.SplitSeq(names, ", ") {
			listed++
			if !slices.ContainsFunc(registered, func(d Drill) bool { return "`"+d.Name+"`" == name }) {
				t.Errorf("docs/drills.md lists %s, and there is no such drill", name)
			}
		}
	}
	if listed != len(registered) {
		t.Errorf("docs/drills.md lists %d drills, and there are %d", listed, len(registered))
	}
}

func TestGrew(t *testing.T) {
	const enough = 1000
	holding := func(ceiling generator.Tick) held { return held{claimed: true, ceiling: ceiling} }
	for _, tt := range []struct {
		name        string
		first, then held
		yes         bool
	}{
		{"granted more", holding(500), holding(501), true},
		{"granted nothing", holding(500), holding(500), false},
		{"another grant, which ends before", holding(500), holding(499), false},
		{"granted more, and with a condition", holding(500), held{claimed: true, ceiling: 501, condition: "no coordinator"}, false},
		{"granted nothing, and has none to ask for", holding(1001), holding(1001), true},
		{"just enough is not more than enough", holding(1000), holding(1000), false},
		{"none to ask for, and with a condition", holding(1001), held{claimed: true, ceiling: 1001, condition: "no coordinator"}, false},
		{"none to ask for, and no claim", held{ceiling: 1001}, held{ceiling: 1001}, false},
	} {
		var before held
		if err := grew(&before, tt.first, enough); (err == nil) != (tt.first.condition == "" && tt.first.claimed && tt.first.ceiling > enough) {
			t.Errorf("%s: at the first look: %v", tt.name, err)
		}
		if err := grew(&before, tt.then, enough); (err == nil) != tt.yes {
			t.Errorf("%s: %v, want granted: %t", tt.name, err, tt.yes)
		}
	}
}

// TestEachDrillHasItsTurn: what CI runs in each change, and what it runs in turn, are all drills.
func TestEachDrillHasItsTurn(t *testing.T) {
	var text []byte
	for _, name := range []string{filepath.Join("..", "..", ".ci", "run"), filepath.Join("..", "..", "scripts", "prove")} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, content...)
	}
	for _, d := range registered {
		if n := len(regexp.MustCompile(`[ |'(]`+regexp.QuoteMeta(d.Name)+`[ |')]`).FindAll(text, -1)); n != 1 && !d.Large {
			t.Errorf("%s is named %d times in .ci/run and scripts/prove, and not once", d.Name, n)
		}
	}
}
