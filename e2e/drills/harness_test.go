//go:build e2e

package drills

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

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
		if got := inOrder(tt.replies).LongestStall(tt.from, tt.to); got != tt.want {
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
		h := &Host{Replies: replies{reply(evidence.Single, 0, 2, evidence.Got), reply(evidence.Single, 30, 100, evidence.Got)}}
		res := &Result{Record: &Record{}}
		res.stalled(tt.from, tt.to, 10, limit, h)
		if len(res.failed) != tt.fails {
			t.Errorf("%s: %q, want %d failures", tt.name, res.failed, tt.fails)
		}
	}
	for what, window := range map[string]time.Duration{"settled": settled, "oscillateFor": oscillateFor} {
		if window <= busy {
			t.Errorf("%s is %v, and no stall within it is longer than busy, %v", what, window, busy)
		}
	}
}

// TestEachDrillIsDocumented: the page that lists them is read more often than this.
func TestEachDrillIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "drills.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range drills {
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
			if !slices.ContainsFunc(drills, func(d Drill) bool { return "`"+d.Name+"`" == name }) {
				t.Errorf("docs/drills.md lists %s, and there is no such drill", name)
			}
		}
	}
	if listed != len(drills) {
		t.Errorf("docs/drills.md lists %d drills, and there are %d", listed, len(drills))
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
	for _, d := range drills {
		if n := len(regexp.MustCompile(`[ |'(]`+regexp.QuoteMeta(d.Name)+`[ |')]`).FindAll(text, -1)); n != 1 {
			t.Errorf("%s is named %d times in .ci/run and scripts/prove, and not once", d.Name, n)
		}
	}
}
