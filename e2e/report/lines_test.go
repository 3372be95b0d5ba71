package report

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

// ms is an instant: milliseconds from start on.
func ms(n int64) evidence.Mono { return start + evidence.Mono(n)*evidence.Mono(time.Millisecond) }

func spans(pairs ...int64) []Span {
	var s []Span
	for i := 0; i < len(pairs); i += 2 {
		s = append(s, Span{ms(pairs[i]), ms(pairs[i+1])})
	}
	return s
}

func logged(replies ...evidence.Reply) Replies {
	return func(yield func(evidence.Reply) error) error {
		for _, r := range replies {
			if err := yield(r); err != nil {
				return err
			}
		}
		return nil
	}
}

func single(outcome evidence.Outcome, asked, answered int64) evidence.Reply {
	r := evidence.Reply{Asking: evidence.Single, Outcome: outcome, Asked: ms(asked), Answered: ms(answered)}
	if outcome == evidence.Got {
		r.IDs = []evidence.Run{{First: answered, Step: 1, N: 1}}
	}
	return r
}

func TestStallsFromReplies(t *testing.T) {
	const got, refused, lost, unsent = evidence.Got, evidence.Refused, evidence.Lost, evidence.Unsent
	for name, c := range map[string]struct {
		clients []Replies
		want    []Span
	}{
		"usual waits are none":      {[]Replies{logged(single(got, 0, 1), single(got, 1, 11), single(got, 990, 999))}, nil},
		"one unusual wait is exact": {[]Replies{logged(single(got, 0, 1), single(got, 1, 12), single(got, 990, 999))}, spans(1, 12)},
		"a client that rests does not wait": {
			[]Replies{logged(single(got, 0, 1), single(got, 500, 501), single(got, 998, 999))}, nil},
		"from the first request that was not served to the first that was": {
			[]Replies{logged(single(got, 0, 1), single(lost, 2, 20), single(unsent, 30, 30), single(refused, 40, 240), single(got, 250, 255), single(got, 995, 999))}, spans(2, 255)},
		"a start is none":                {[]Replies{logged(single(unsent, 0, 0), single(unsent, 100, 100), single(got, 300, 301), single(got, 995, 999))}, nil},
		"nor is the first answer of all": {[]Replies{logged(single(got, 0, 500), single(got, 995, 999))}, nil},
		"one within another": {[]Replies{
			logged(single(got, 0, 1), single(got, 100, 300), single(got, 995, 999)),
			logged(single(got, 0, 1), single(got, 150, 200), single(got, 995, 999)),
		}, spans(100, 300)},
		"one slow answer while another connection is served": {
			[]Replies{logged(single(got, 0, 1), single(got, 400, 401), single(got, 2, 500), single(got, 995, 999))}, spans(2, 500)},
		"two clients' overlap": {[]Replies{
			logged(single(got, 0, 1), single(got, 100, 200), single(got, 995, 999)),
			logged(single(got, 0, 1), single(got, 150, 300), single(got, 600, 700), single(got, 995, 999)),
		}, spans(100, 300, 600, 700)},
		"nothing more before the end":       {[]Replies{logged(single(got, 0, 1), single(got, 395, 400))}, spans(400, 1000)},
		"failures until the end":            {[]Replies{logged(single(got, 0, 1), single(lost, 500, 900))}, spans(500, 1000)},
		"an answer after the end":           {[]Replies{logged(single(got, 0, 1), single(got, 800, 1200))}, spans(800, 1000)},
		"a wait that began before":          {[]Replies{logged(single(got, -60, -50), single(got, -50, 70), single(got, 995, 999))}, spans(0, 70)},
		"an answer before the failure ends": {[]Replies{logged(single(got, 0, 1), single(lost, 2, 100), single(got, 50, 51), single(got, 101, 102), single(got, 995, 999))}, spans(2, 102)},
		"other ways of asking do not count": {[]Replies{logged(single(got, 0, 1), single(got, 995, 999),
			evidence.Reply{Asking: evidence.Batch, Outcome: got, Asked: ms(5), Answered: ms(800)})}, nil},
		"a client that was never served": {[]Replies{logged(single(refused, 0, 900)), logged()}, nil},
	} {
		lines, err := Lines([]Host{{Name: "a", Clients: c.clients}}, ms(0), ms(1000), time.Second)
		if err != nil {
			t.Fatal(name, err)
		}
		if !slices.Equal(lines[0].Stalls, c.want) {
			t.Errorf("%s: stalls %v, want %v", name, lines[0].Stalls, c.want)
		}
		var longest time.Duration
		for _, s := range c.want {
			longest = max(longest, s.Length())
		}
		if got := LongestStall(lines); got != longest {
			t.Errorf("%s: the longest is %v, want %v", name, got, longest)
		}
	}
}

func TestBuckets(t *testing.T) {
	batch := func(answered int64, outcome evidence.Outcome, runs ...int) evidence.Reply {
		r := evidence.Reply{Asking: evidence.InRuns, Outcome: outcome, Asked: ms(answered - 1), Answered: ms(answered)}
		for _, n := range runs {
			r.IDs = append(r.IDs, evidence.Run{First: 1, Step: 1, N: n})
		}
		return r
	}
	lines, err := Lines([]Host{
		{Name: "a", Clients: []Replies{logged(batch(-1, evidence.Got, 99), batch(0, evidence.Got, 3, 4), batch(99, evidence.Got, 5)), logged(batch(100, evidence.Got, 6), batch(249, evidence.Got, 7), batch(250, evidence.Got, 99), batch(150, evidence.Lost, 99))}},
		{Name: "b", Clients: []Replies{logged(batch(120, evidence.Got, 1<<31), batch(121, evidence.Got, 1<<31))}},
	}, ms(0), ms(250), 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if want := []uint32{12, 6, 7}; !slices.Equal(lines[0].IDs, want) {
		t.Errorf("%v, want %v", lines[0].IDs, want)
	}
	if want := []uint32{0, 1<<32 - 1, 0}; !slices.Equal(lines[1].IDs, want) {
		t.Errorf("%v, want %v", lines[1].IDs, want)
	}
}

func TestLinesErrors(t *testing.T) {
	broken := errors.New("damaged at 17")
	_, err := Lines([]Host{{Name: "host-7", Clients: []Replies{func(func(evidence.Reply) error) error { return broken }}}}, 0, 1, 1)
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "host-7") {
		t.Error(err)
	}
	for _, c := range []struct {
		began, ended evidence.Mono
		every        time.Duration
	}{{-1, 5, 1}, {5, 4, 1}, {0, 5, 0}, {0, 1 << 40, 1}} {
		if _, err := Lines(nil, c.began, c.ended, c.every); err == nil {
			t.Errorf("no error for %v", c)
		}
	}
}

func TestLinesFromFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "1.replies")
	log, err := evidence.CreateReplies(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []evidence.Reply{single(evidence.Got, 0, 1), single(evidence.Got, 2, 50), single(evidence.Got, 990, 995)} {
		if err := log.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	lines, err := Lines([]Host{{Name: "a", Clients: []Replies{File(path)}}}, ms(0), ms(1000), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(lines[0].IDs, []uint32{3}) || !slices.Equal(lines[0].Stalls, spans(2, 50)) {
		t.Errorf("%+v", lines[0])
	}
	if _, err := Lines([]Host{{Name: "a", Clients: []Replies{File(path + ".none")}}}, ms(0), ms(1000), time.Second); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestEvery(t *testing.T) {
	for _, length := range []time.Duration{0, time.Second, 40 * time.Second, 90 * time.Second, 15 * time.Minute, 24 * time.Hour, 100_000 * time.Hour} {
		every := Every(start, start+evidence.Mono(length))
		if every <= 0 || length > 400*every || every > 100*time.Millisecond && length < 100*every {
			t.Errorf("%v: %v", length, every)
		}
	}
}

func TestRecovery(t *testing.T) {
	at := func(from, until int64) Fault { return Fault{At: ms(from), Until: ms(until)} }
	for name, c := range map[string]struct {
		faults []Fault
		stalls [][]Span
		want   time.Duration
	}{
		"nothing done":               {nil, [][]Span{spans(0, 100)}, 0},
		"nothing stopped":            {[]Fault{at(50, 60)}, [][]Span{nil, nil}, 0},
		"from the end of a fault":    {[]Fault{at(50, 500)}, [][]Span{spans(60, 800), spans(60, 700)}, 300 * time.Millisecond},
		"from one that has no end":   {[]Fault{at(50, 50)}, [][]Span{spans(55, 100)}, 50 * time.Millisecond},
		"over before the fault ends": {[]Fault{at(50, 500)}, [][]Span{spans(60, 400)}, 0},
		"something else later":       {[]Fault{at(50, 50)}, [][]Span{spans(300, 400)}, 0},
		"the last fault counts":      {[]Fault{at(50, 900), at(100, 110)}, [][]Span{spans(105, 300, 850, 950)}, 50 * time.Millisecond},
	} {
		var lines []Line
		for _, s := range c.stalls {
			lines = append(lines, Line{Stalls: s})
		}
		if got := Recovery(c.faults, lines); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
