package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

func TestRaise(t *testing.T) {
	for _, c := range []struct {
		name     string
		args     string
		change   func(*standIn)
		stdin    string
		terminal bool
		unsynced bool
		to       time.Duration // from noon
		whole    string        // what is printed, where it is looked at
		warned   string        // part of the warning; empty: there is none
		err      string
		code     int
	}{
		{name: "unless told", args: "--yes", to: 15 * time.Minute,
			whole: raised("2026-01-01T12:10:00.000Z, +10m0s: the ceiling of worker ID 4\n", "")},
		{name: "a longer window", args: "--yes", change: func(s *standIn) { s.inspected.Longest = 7_200_000 }, to: 2*time.Hour + 5*time.Minute},
		{name: "below a ceiling", args: "--yes", change: func(s *standIn) { s.marks[1].Ceiling = tickAt(time.Hour) }, to: 15 * time.Minute,
			whole: raised("2026-01-01T13:00:00.000Z, +1h0m: the ceiling of worker ID 5\n"+
				"later      worker IDs whose ceiling is later already: 1; each is unusable until its own has passed. "+
				"What a clock that far ahead was granted since the backup may be issued a second time: then raise above it\n",
				"; not by worker IDs whose own ceiling is later, of which the latest is 2026-01-01T13:00:00.000Z")},
		{name: "by", args: "--yes --begin 20m", to: 20 * time.Minute},
		{name: "to", args: "--yes --to 2026-01-01T13:00:00+00:00", to: time.Hour},
		{name: "too near, forced", args: "--yes --begin 5m --force", change: func(s *standIn) { s.marks[0].Ceiling = tickAt(time.Minute) }, to: 5 * time.Minute,
			warned: "5m0s from now, less than the 10m0s that daemons may have been granted, the longest window that the cluster ever had; daemons may hold grants beyond it"},
		{name: "far, allowed", args: "--yes --begin 26h --max 27h", to: 26 * time.Hour},
		{name: "asked", stdin: "y\n", terminal: true, to: 15 * time.Minute},
		{name: "a clock that may be wrong, and is right", args: "--yes", unsynced: true, to: 15 * time.Minute},
		{name: "a clock that may be wrong", stdin: "y\n", terminal: true, unsynced: true, err: "synchronised", code: ExitUsage},
		{name: "asked, in a word", stdin: "Yes\n", terminal: true, to: 15 * time.Minute},
		{name: "asked, without an end of line", stdin: "y", terminal: true, to: 15 * time.Minute},

		{name: "declined", stdin: "n\n", terminal: true, err: "nothing was done", code: ExitFailed},
		{name: "just Enter", stdin: "\n", terminal: true, err: "nothing was done", code: ExitFailed},
		{name: "no answer", stdin: "", terminal: true, err: "nothing was done", code: ExitFailed},
		{name: "nobody to ask", stdin: "y\n", err: "cluster raise asks before it acts, and standard input is no terminal to ask on: --yes", code: ExitUsage},
		{name: "far", args: "--yes --begin 25h1s", err: "more than --max 25h0m0s", code: ExitUsage},
		{name: "too near", args: "--yes --begin 9m59s", change: func(s *standIn) { s.marks[0].Ceiling = tickAt(time.Minute) },
			err: "less than the 10m0s that daemons may have been granted, the longest window that the cluster ever had", code: ExitUsage},
		{name: "the past", args: "--yes --to 2026-01-01T11:59:59Z", err: "has passed", code: ExitUsage},
		{name: "no time", args: "--yes --to soon", err: `--to: "soon" is not a time`, code: ExitUsage},
		{name: "unknown outcome", args: "--yes", change: failing("raise 44100000", errors.New("cut")), err: "whether it was done is not known", code: ExitFailed},
		{name: "another cluster", args: "--yes", change: failing("raise 44100000", &coord.ClusterError{Ours: "a", Cluster: "b"}), err: "the coordinator was wiped", code: ExitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := someCluster()
			if c.change != nil {
				c.change(s)
			}
			out, stderr, err := ask{standIn: s, stdin: c.stdin, terminal: c.terminal, unsynced: c.unsynced}.run(t, append([]string{"cluster", "raise"}, strings.Fields(c.args)...)...)
			checkError(t, err, c.err, c.code)
			last := s.calls[len(s.calls)-1]
			if unknown := strings.Contains(fmt.Sprint(err), "whether it was done is not known"); unknown != (c.name == "unknown outcome") {
				t.Errorf("the error is %v", err)
			}
			if c.err != "" {
				if strings.HasPrefix(last, "raise") && s.fail == nil {
					t.Errorf("%s was done", last)
				}
				return
			}
			if strings.Contains(stderr, "warning: ") != (c.warned != "") || !strings.Contains(stderr, c.warned) {
				t.Errorf("warned %q, want %q", stderr, c.warned)
			}
			if want := fmt.Sprintf("raise %d", tickAt(c.to)); last != want {
				t.Errorf("asked for %q, want %q", last, want)
			}
			if want := c.whole; want != "" && out != want {
				t.Errorf("printed\n%s\nwant\n%s", out, want)
			}
		})
	}
}

// raised is what a raise to a quarter past noon prints.
func raised(highest, except string) string {
	return "cluster    " + clusterUUID + " at " + ownPaths().coordinator() + `
raise to   2026-01-01T12:15:00.000Z (tick 44100000), 15m0s from now
window     10m0s is the longest that the cluster ever had
pause      no daemon issues IDs until then, once its next publish has told it, or its grant from before has ended
records    3 of 1024 worker IDs; 2 are held, by claims that end now
highest    ` + highest + `
raised: every worker ID's ceiling is 2026-01-01T12:15:00.000Z or later
IDs are issued again from 2026-01-01T12:15:00.001Z on, 15m0s from now` + except + `
next: start the daemons again that say that the coordinator was restored (` + "`flakeward status` on their hosts" + `); the others go on by themselves
`
}

func failing(which string, err error) func(*standIn) {
	return func(s *standIn) {
		s.fail = func(_ context.Context, call string) error { return on(call, which, err) }
	}
}

// asking runs a command that asks on a terminal, until it has asked.
func asking(ctx context.Context, s *standIn, clock *clocktest.Manual, args ...string) (answer *io.PipeWriter, ended <-chan error) {
	in, answer := io.Pipe()
	out := &outside{operate: s.operate, clock: clock, terminal: func(any) bool { return true }, synchronised: func() bool { return true }}
	asked, end := prompt{seen: make(chan struct{}, 1)}, make(chan error, 1)
	go func() {
		end <- newProgram(ownPaths(), out).run(ctx, append([]string{"flakeward"}, args...), in, io.Discard, asked)
	}()
	<-asked.seen
	return answer, end
}

// prompt tells when something is asked.
type prompt struct{ seen chan struct{} }

func (p prompt) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "[y/N]") {
		p.seen <- struct{}{}
	}
	return len(b), nil
}

// What is shown is not true for ever, and neither is "15 minutes from now".
func TestRaiseWantsAnAnswerSoon(t *testing.T) {
	s, clock := someCluster(), clocktest.NewManual(noon)
	answer, ended := asking(t.Context(), s, clock, "cluster", "raise")
	clock.Advance(longestThought + time.Second)
	must.Get(io.WriteString(answer, "y\n"))(t)
	checkError(t, <-ended, "the answer took 1m1s", ExitFailed)
	if last := s.calls[len(s.calls)-1]; strings.HasPrefix(last, "raise") {
		t.Error("the marks were raised")
	}
}

// Ctrl-C at the question ends the command.
func TestQuestionIsInterrupted(t *testing.T) {
	s := someCluster()
	ctx, interrupt := context.WithCancel(t.Context())
	answer, ended := asking(ctx, s, clocktest.NewManual(noon), "claims", "clear", "claim-4")
	defer answer.Close() // ends the read that was left
	interrupt()
	checkError(t, <-ended, "nothing was done", ExitFailed)
	if slices.Contains(s.calls, "clear claim-4") {
		t.Error("the claim was cleared")
	}
}

func TestClear(t *testing.T) {
	for _, c := range []struct {
		name     string
		args     []string
		fail     func(*standIn)
		stdin    string
		terminal bool
		out      []string // parts
		cleared  bool
		silent   bool // nothing but the error is said
		err      string
		code     int
	}{
		{name: "a member's", args: []string{"claim-4", "--yes"}, cleared: true,
			out: []string{"claim    claim-4\n", "worker ID 4, host h1, process 11, incarnation 1a2b3c4d5e6f, claimed 3h0m ago, its last ID 2.0s ago\n", "nothing is issued twice", "cleared: claim-4\n"}},
		{name: "one that owns nothing", args: []string{"claim-9", "--yes"}, cleared: true, out: []string{"cleared: claim-9\n"}},
		{name: "not listed", args: []string{"claim-9"}, stdin: "y\n", terminal: true, silent: true, err: `claim of the name "claim-9": see flakeward claims`, code: ExitFailed},
		{name: "asked", args: []string{"claim-4"}, stdin: "y\n", terminal: true, cleared: true},
		{name: "declined", args: []string{"claim-4"}, stdin: "no\n", terminal: true, err: "nothing was done", code: ExitFailed},
		{name: "nobody to ask", args: []string{"claim-4"}, stdin: "y\n", err: "claims clear asks before it acts", code: ExitUsage},
		{name: "not there", args: []string{"claim-9", "--yes"}, fail: failing("clear claim-9", coord.ErrNoClaim), cleared: true, silent: true,
			err: "there is no claim of that name; see flakeward claims", code: ExitFailed},
		{name: "an empty name", args: []string{"", "--yes"}, err: "the name of one claim", code: ExitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := someCluster()
			if c.fail != nil {
				c.fail(s)
			}
			out, stderr, err := ask{standIn: s, stdin: c.stdin, terminal: c.terminal}.run(t, append([]string{"claims", "clear"}, c.args...)...)
			checkError(t, err, c.err, c.code)
			if c.silent && out+stderr != "" {
				t.Errorf("said %q and %q before the error", out, stderr)
			}
			for _, part := range c.out {
				if !strings.Contains(out, part) {
					t.Errorf("%q is missing in\n%s", part, out)
				}
			}
			if got := slices.Contains(s.calls, "clear "+c.args[0]); got != c.cleared {
				t.Errorf("cleared: %v, want %v", got, c.cleared)
			}
			if strings.Contains(out, "cleared") != (c.err == "") {
				t.Errorf("printed\n%s", out)
			}
		})
	}
}
