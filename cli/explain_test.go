package cli

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// idAt is an ID of the stand-in's cluster.
func idAt(t testing.TB, worker uint64, d time.Duration) string {
	t.Helper()
	layout := must.Get(generator.ParseLayout(fullLayout))(t)
	id := must.Get(layout.Compose(generator.Parts{Tick: tickAt(d), Worker: worker, Sequence: 7}))(t)
	return strconv.FormatInt(id, 10)
}

func TestExplain(t *testing.T) {
	old, now := idAt(t, 4, -4*time.Hour), idAt(t, 4, -time.Hour)
	before, later := idAt(t, 4, -5*time.Hour), idAt(t, 4, time.Hour)
	never := idAt(t, 9, -time.Hour)
	oldBlock := "id           " + old + "\n" + `time         2026-01-01T08:00:00.000Z
tick         28800000
worker       4
sequence     7
host         h0
incarnation  i0
claim        claim-0
version      v0
since        2026-01-01T07:00:00.000Z
`
	nowBlock := "id           " + now + "\n" + `time         2026-01-01T11:00:00.000Z
tick         39600000
worker       4
sequence     7
host         h1
incarnation  1a2b3c4d5e6f
claim        claim-4
version      v1
`
	for _, c := range []struct {
		name   string
		args   []string
		stdin  string
		out    string   // all of it, unless parts
		parts  []string // of the output
		stderr string   // part
		err    string
		code   int
	}{
		{name: "one", args: []string{old}, out: oldBlock},
		{name: "two", args: []string{old, now}, out: oldBlock + "\n" + nowBlock},
		{name: "standard input", args: []string{"-"}, stdin: old + "\n " + now + "\n", out: oldBlock + "\n" + nowBlock},
		{name: "both", args: []string{old, "-"}, stdin: now, out: oldBlock + "\n" + nowBlock},
		{name: "in JSON, the flag last", args: []string{old, "--json"},
			out: `{"id":"` + old + `","time":"2026-01-01T08:00:00.000Z","tick":28800000,"worker":4,"sequence":7,"verdict":"held","host":"h0","incarnation":"i0",` +
				`"claim":"claim-0","opening":"o0","version":"v0","since":"2026-01-01T07:00:00Z","from_tick":25200000,"note":null}` + "\n"},
		{name: "no longer known", args: []string{before}, parts: []string{"host      not known\nnote      who held worker ID 4 then is no longer known"},
			err: "no holder is known for 1 of 1 IDs", code: ExitUnknown},
		{name: "above the ceiling, in JSON", args: []string{later, old, "--json"}, parts: []string{`"verdict":"ungranted","host":null,`, `"from_tick":null,"note":"this coordinator granted worker ID 4 up to`, `"verdict":"held"`},
			err: "no holder is known for 1 of 2 IDs", code: ExitUnknown},
		{name: "nobody", args: []string{never}, parts: []string{"nobody ever held worker ID 9"}, err: "no holder is known", code: ExitUnknown},
		{name: "a wrong one keeps no other from being explained", args: []string{"-"}, stdin: "x " + old, out: oldBlock,
			stderr: `flakeward: word 1 of standard input: "x" is not an ID`, err: "1 of 2 IDs could not be decoded", code: ExitFailed},
		{name: "a wrong one comes before an unknown one", args: []string{"-1", never}, err: "", code: ExitUsage},
		{name: "negative", args: []string{"--", "-1", never}, parts: []string{"nobody"}, stderr: "it is negative", err: "1 of 2 IDs could not be decoded", code: ExitFailed},
		{name: "an endless word", args: []string{"-"}, stdin: old + " " + strings.Repeat("1", 2*maxWord), out: oldBlock, err: "standard input, after word 1", code: ExitFailed},
		{name: "no words", args: []string{"-"}, stdin: " \n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, complaint, err := ask{standIn: someCluster(), stdin: c.stdin}.run(t, append([]string{"explain"}, c.args...)...)
			if c.code == ExitUsage {
				c.err = "flag provided but not defined"
			}
			checkError(t, err, c.err, c.code)
			for _, part := range c.parts {
				if !strings.Contains(out, part) {
					t.Errorf("%q is missing in\n%s", part, out)
				}
			}
			if c.parts == nil && out != c.out {
				t.Errorf("printed\n%s\nwant\n%s", out, c.out)
			}
			if !strings.Contains(complaint, c.stderr) || c.stderr == "" && complaint != "" {
				t.Errorf("complained %q, want %q", complaint, c.stderr)
			}
		})
	}
}

// What the coordinator says is only true of IDs that were there before it was
// asked, and it is not asked for every single one.
func TestExplainAsksAnewForEachBatch(t *testing.T) {
	s := someCluster()
	stdin := strings.Repeat(idAt(t, 4, -time.Hour)+" "+idAt(t, 9, -time.Hour)+"\n", largestBatch/2+1)
	out, _, err := ask{standIn: s, stdin: stdin}.run(t, "explain", "--json", "-")
	checkError(t, err, fmt.Sprintf("no holder is known for %d of %d IDs", largestBatch/2+1, largestBatch+2), ExitUnknown)
	if n := strings.Count(out, "\n"); n != largestBatch+2 {
		t.Errorf("%d lines for %d IDs", n, largestBatch+2)
	}
	if got := strings.Join(s.calls, ","); got != "operate,inspect,marks,history 4,history 9,marks,history 4,history 9" {
		t.Errorf("asked %s", got)
	}
}

func TestExplainGoesByTheClustersLayout(t *testing.T) {
	s := someCluster()
	s.inspected.Layout = "time=41@1ms,datacenter=5,worker=5,sequence=12;epoch=2010-11-04T01:42:54.657Z;datacenter=9"
	out, _, err := ask{standIn: s}.run(t, "explain", "--json", tweet)
	checkError(t, err, "no holder is known", ExitUnknown)
	if !strings.Contains(out, `"time":"2022-06-28T16:07:40.105Z","tick":367597485448,"datacenter":11,"worker":26,"sequence":0,"may_be_rounded":true,"verdict":"elsewhere"`) {
		t.Errorf("printed %s", out)
	}
}

// The sequence of an ID that may be rounded is not to be trusted: explain says so.
func TestExplainSaysWhatMayBeRounded(t *testing.T) {
	s := someCluster()
	exact := idAt(t, 4, 60*24*time.Hour) // above 2^53
	rounded := strconv.FormatInt(must.Get(strconv.ParseInt(exact, 10, 64))(t)&^15, 10)
	for id, want := range map[string]bool{rounded: true, exact: false} {
		out, _, err := ask{standIn: s}.run(t, "explain", id)
		checkError(t, err, "no holder is known", ExitUnknown)
		if strings.Contains(out, "\nmay be rounded  the digits are those of") != want {
			t.Errorf("%s:\n%s", id, out)
		}
		if out, _, _ = (ask{standIn: s}).run(t, "explain", "--json", id); strings.Contains(out, `"may_be_rounded":true`) != want {
			t.Errorf("%s: %s", id, out)
		}
	}
}
