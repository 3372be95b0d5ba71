package audit

import (
	"errors"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// Evidence that is missing, cannot be read or contradicts itself is an error that says what is
// wrong, and never a verdict.
func TestNoVerdict(t *testing.T) {
	broken := errors.New("broken")
	tests := []struct {
		name, want string
		spoil      func(s *stage, c *Cluster, sites *[]site)
	}{
		{"no layout", "no layout", func(_ *stage, c *Cluster, _ *[]site) { c.Layout = nil }},
		{"no hosts", "no host", func(_ *stage, _ *Cluster, sites *[]site) { *sites = nil }},
		{"one host twice", `"host-1" is given twice`, func(_ *stage, _ *Cluster, sites *[]site) { (*sites)[1].name = "host-1" }},
		{"one file twice", "host-2/client is given twice", func(_ *stage, _ *Cluster, sites *[]site) {
			(*sites)[1].clients = append((*sites)[1].clients, (*sites)[1].clients[0])
		}},
		{"no log of a daemon", "host-2 has no log of a daemon", func(_ *stage, _ *Cluster, sites *[]site) { (*sites)[1].daemons = nil }},
		{"no log of a client", "host-2 has no log of a client", func(_ *stage, _ *Cluster, sites *[]site) { (*sites)[1].clients = nil }},
		{"nothing in the logs of a daemon", "no daemon of host host-1", func(s *stage, _ *Cluster, _ *[]site) { s.hosts[0].starts[0], s.hosts[0].starts[1] = nil, nil }},
		{"nothing in the log of a client", "host-3 have recorded nothing", func(s *stage, _ *Cluster, _ *[]site) { s.hosts[2].replies = nil }},
		{"no IDs at all", "no ID was issued", func(s *stage, c *Cluster, sites *[]site) {
			s.hosts[0].starts[0] = s.hosts[0].starts[0][:1]
			s.hosts[0].replies = []evidence.Reply{{Asked: 1, Answered: 2, Outcome: evidence.Unsent}}
			(*sites)[0].daemons = (*sites)[0].daemons[:1]
			*sites = (*sites)[:1]
		}},
		{"steps in disorder", "clock steps of host host-1", func(_ *stage, _ *Cluster, sites *[]site) { (*sites)[0].steps = []Step{{At: 2}, {At: 1}} }},
		{"a log without a start", "host-1/daemon/1 does not begin", func(s *stage, _ *Cluster, _ *[]site) { s.hosts[0].starts[1] = s.hosts[0].starts[1][1:] }},
		{"two starts in one log", "host-1/daemon/1: one start", func(s *stage, _ *Cluster, _ *[]site) {
			l := s.hosts[0].starts[1]
			s.hosts[0].starts[1] = append(l, l[0])
		}},
		{"one start in two logs", "host-1/daemon/1 is of the same start of a daemon as host-1/daemon/0", func(s *stage, _ *Cluster, _ *[]site) {
			s.hosts[0].starts[1][0].Incarnation = s.hosts[0].starts[0][0].Incarnation
		}},
		{"another layout", "and the cluster's is", func(s *stage, _ *Cluster, _ *[]site) { s.hosts[0].starts[1][0].Layout = "twitter" }},
		{"a worker ID that there is not", "no worker ID 1024", func(s *stage, _ *Cluster, _ *[]site) { s.event(0, 1, evidence.Claimed).Worker = 1024 }},
		{"an event that there is not", "no event of kind 77", func(s *stage, _ *Cluster, _ *[]site) { s.event(0, 1, evidence.Claimed).Kind = 77 }},
		{"an empty run", "a run of 0 IDs", func(s *stage, _ *Cluster, _ *[]site) { s.event(0, 1, evidence.Issued).Run.N = 0 }},
		{"a reply with an empty run", "a run of 2 IDs with steps of 0", func(s *stage, _ *Cluster, _ *[]site) {
			s.hosts[0].replies[0].IDs = []evidence.Run{{First: 5, N: 2}}
		}},
		{"a whole reply without an ID", "without an ID", func(s *stage, _ *Cluster, _ *[]site) { s.hosts[0].replies[0].IDs = nil }},
		{"an unsent request with IDs", "not sent has IDs", func(s *stage, _ *Cluster, _ *[]site) { s.hosts[0].replies[0].Outcome = evidence.Unsent }},
		{"an outcome that there is not", "no outcome 9", func(s *stage, _ *Cluster, _ *[]site) { s.hosts[0].replies[0].Outcome = 9 }},
		{"answered before it was asked", "before it was asked", func(s *stage, _ *Cluster, _ *[]site) { s.hosts[0].replies[0].Answered = 0 }},
		{"a version without a holder", "without a holder", func(_ *stage, c *Cluster, _ *[]site) { c.History[3].Holder = "" }},
		{"two versions at once", "two versions", func(_ *stage, c *Cluster, _ *[]site) { c.History = append(c.History, c.History[3]) }},
		{"a damaged log of a daemon", "broken", func(_ *stage, _ *Cluster, sites *[]site) {
			(*sites)[1].daemons[0].read = func(func(evidence.Event) error) error { return broken }
		}},
		{"a log of a daemon that is damaged further on", "broken", func(_ *stage, _ *Cluster, sites *[]site) {
			read := (*sites)[1].daemons[0].read
			(*sites)[1].daemons[0].read = func(yield func(evidence.Event) error) error { return errors.Join(read(yield), broken) }
		}},
		{"a damaged log of a client", "broken", func(_ *stage, _ *Cluster, sites *[]site) {
			read := (*sites)[1].clients[0].read
			(*sites)[1].clients[0].read = func(yield func(evidence.Reply) error) error { return errors.Join(read(yield), broken) }
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage(t)
			c, sites := s.evidence()
			tt.spoil(s, &c, &sites)
			v, err := judge(c, sites)
			if err == nil || !strings.Contains(err.Error(), tt.want) || v.Violations() != 0 || v.Issued != 0 {
				t.Errorf("got %+v, %v, want an error with %q", v.Counts, err, tt.want)
			}
		})
	}
}

// Without the history, or without a daemon's log, what hangs on it is a violation.
func TestWhatIsMissingIsNoPass(t *testing.T) {
	s := newStage(t)
	c, sites := s.evidence()
	c.History = nil
	v, err := judge(c, sites)
	if err != nil || v.Findings[Granted].Kinds[UnknownClaim] != 5 || v.Findings[Granted].Kinds[AboveCeiling] != v.Issued {
		t.Errorf("without a history: %+v, %v", v.Findings[Granted], err)
	}
	c, sites = s.evidence()
	sites[0].daemons = sites[0].daemons[:1]
	v, err = judge(c, sites)
	if err != nil || v.Findings[Unique].Kinds[Unrecorded] == 0 || v.Findings[Unique].Kinds[Unrecorded] != v.Received+v.Lost-v.Issued {
		t.Errorf("without a log: %+v, %v", v.Findings[Unique], err)
	}
}

// A tree that was wiped has a history of its own: its openings count, and the record's beginning
// anew is no lowering.
func TestWipedTree(t *testing.T) {
	for _, known := range []bool{true, false} {
		s := newStage(t)
		if known {
			s.past = append(s.past, s.stored)
		}
		s.stored = nil
		clear(s.records)
		s.now += evidence.Mono(time.Minute)
		for i, h := range s.hosts {
			h.start(i)
			h.ask(5, true)
		}
		c, sites := s.evidence()
		v, err := judge(c, sites)
		if err != nil || (v.Violations() == 0) != known {
			t.Errorf("with the wiped tree's history %v: %q, %v", known, v.Examples(), err)
		}
	}
}

func TestUnordered(t *testing.T) {
	s := newStage(t)
	s.down(0, 1000)
	c, sites := s.evidence()
	c.Unordered = true
	v, err := judge(c, sites)
	if err != nil || v.Violations() != 0 || v.Findings[Rising].Judged || v.Findings[Skewed].Judged || !v.Findings[Disjoint].Judged {
		t.Errorf("%+v, %v", v.Findings, err)
	}
}

func TestManyExamples(t *testing.T) {
	s := newStage(t)
	for range 30 {
		s.record(1, s.lost)
		s.receive(0, 99, evidence.Run{First: -1, Step: 1, N: 1})
	}
	c, sites := s.evidence()
	v, err := judge(c, sites)
	if f := v.Findings[Unique]; err != nil || f.Count != 330 || f.Kinds[NoID] != 30 || len(f.Examples) != 2*maxOfAKind || len(v.Examples()) != 2*maxOfAKind {
		t.Errorf("%+v, %v", f, err)
	}
}

// A step that is made while the daemon is paused takes effect when it goes on, and a little later.
func TestClock(t *testing.T) {
	second := evidence.Mono(time.Second)
	c := newClock([]Step{{At: 10 * second, Offset: -int64(3 * time.Second)}, {At: 60 * second, Offset: int64(time.Second)}})
	tick := generator.Tick(0)
	for at := second; at < 100*second; at += second / 1000 {
		if at > 9*second && at < 30*second {
			continue
		}
		offset := evidence.Mono(0)
		if at > 30*second+3*second/1000 {
			offset = -3 * second
		}
		if at > 60*second {
			offset = second
		}
		tick = generator.Tick((at + offset) / (second / 1000))
		c.issued(at, 0, tick)
	}
	c.settle(0)
	for _, tt := range []struct {
		from, until evidence.Mono // ms
		low, high   int64         // ms
		behind      bool
	}{
		{1000, 2000, 0, 0, false},
		{1000, 9994, 0, 0, false},
		{1000, 9995, -3000, 0, true},
		{10000, 10000, -3000, 0, true},
		{30001, 30002, -3000, 0, true},
		{30990, 30990, -3000, 0, true},
		{31010, 31010, -3000, 0, true}, // settled, but not made up for
		{33000, 33001, -3000, 0, true}, // made up for what was issued at 30.003 s
		{33100, 33101, -3000, -3000, false},
		{59000, 59990, -3000, -3000, false},
		{59000, 59995, -3000, 1000, false},
		{60500, 60600, -3000, 1000, false},
		{61100, 61200, -3000, 1000, false}, // it may not be believed
		{0, 99000, -3000, 1000, true},
	} {
		got := c.between(0, tt.from*second/1000, tt.until*second/1000)
		if got.low != tt.low*1e6 || got.high != tt.high*1e6 || got.behind != tt.behind {
			t.Errorf("from %d to %d ms: %+v, want %+v", tt.from, tt.until, got, tt)
		}
	}
}

// A step whose file takes two seconds to be written may take effect at any time until then, and a
// second of issuing later.
func TestClockWhoseFileIsWrittenSlowly(t *testing.T) {
	second := evidence.Mono(time.Second)
	c := newClock([]Step{{At: 10 * second, Offset: -int64(2 * time.Second / 5)}, {At: 20 * second, Set: 22 * second, Offset: int64(time.Second / 2)}})
	for at := second; at < 40*second; at += second / 1000 {
		c.issued(at, 0, generator.Tick(at/(second/1000)))
	}
	for at, want := range map[evidence.Mono]cell{
		19: {low: -400, high: -400}, 21: {low: -400, high: 500}, 22: {low: -400, high: 500}, 24: {low: 500, high: 500},
	} {
		if got := c.between(0, at*second, at*second); got.low != want.low*1e6 || got.high != want.high*1e6 {
			t.Errorf("at %d s: %+v, want %+v ms", at, got, want)
		}
	}
}

// A step ahead of more than a second may not be believed until the clock is back, so that known
// time is what it was; a smaller one is followed.
func TestClockThatIsNotBelieved(t *testing.T) {
	second := evidence.Mono(time.Second)
	c := newClock([]Step{
		{At: 10 * second, Offset: int64(900 * time.Millisecond)}, {At: 20 * second, Offset: int64(time.Hour)},
		{At: 30 * second, Offset: int64(2 * time.Hour)}, {At: 40 * second, Offset: 0},
	})
	for at := second; at < 60*second; at += second / 1000 {
		c.issued(at, 0, generator.Tick(at/(second/1000)))
	}
	for _, tt := range []struct {
		at        evidence.Mono // seconds
		low, high time.Duration
	}{
		{5, 0, 0},
		{15, 900 * time.Millisecond, 900 * time.Millisecond},
		{25, 900 * time.Millisecond, time.Hour},
		{35, 900 * time.Millisecond, 2 * time.Hour},
		{50, 0, 0},
	} {
		if got := c.between(0, tt.at*second, tt.at*second); got.low != int64(tt.low) || got.high != int64(tt.high) {
			t.Errorf("at %d s: %+v, want %v to %v", tt.at, got, tt.low, tt.high)
		}
	}
}

func TestShape(t *testing.T) {
	texts := append(generator.Presets(), "worker=4,tenant=3,sequence=9,time=40@1ms,datacenter=2;epoch=2026-01-01", "sequence=5,time=30@1s,worker=5;epoch=2026-01-01")
	rapid.Check(t, func(t *rapid.T) {
		l := layoutOf(t, rapid.SampledFrom(texts).Draw(t, "layout"))
		s, err := shapeOf(l)
		if err != nil {
			t.Fatal(err)
		}
		a := rapid.Int64Range(0, s.maxID).Draw(t, "ID")
		k := s.keyOf(a)
		p, err := l.Decompose(a)
		if err != nil || s.id(k) != a || s.tickOf(k) != p.Tick || s.workerOf(k) != int(p.Worker) || bits.Len64(uint64(k)) > bits.Len64(uint64(s.maxID)) {
			t.Fatalf("%d is %+v, %v, and as a key %d, tick %d, worker ID %d, ID %d", a, p, err, k, s.tickOf(k), s.workerOf(k), s.id(k))
		}
		q := p
		q.Sequence = rapid.Uint64Range(0, l.Max(generator.Sequence)).Draw(t, "sequence")
		b, err := l.Compose(q)
		if err != nil || s.group(s.keyOf(b)) != s.group(k) || int64(s.keyOf(b)-k) != int64(q.Sequence)-int64(p.Sequence) {
			t.Fatalf("%d and %d of one tick have the keys %d and %d", a, b, k, s.keyOf(b))
		}
		one := func(q generator.Parts) key {
			id, err := l.Compose(q)
			if err != nil {
				t.Fatal(err)
			}
			return s.keyOf(id)
		}
		moved, other := p, p
		moved.Worker ^= rapid.Uint64Range(0, l.Max(generator.Worker)).Draw(t, "worker") & 1
		other.Tenant ^= l.Max(generator.Tenant)
		if s.rival(k, one(moved)) != (moved.Worker != p.Worker) || s.rival(k, one(other)) || s.rival(one(moved), one(other)) != (moved.Worker != p.Worker && other.Tenant == p.Tenant) {
			t.Fatalf("%+v, %+v, %+v", p, moved, other)
		}
		q.Tick = generator.Tick(rapid.Int64Range(0, int64(l.MaxTick())).Draw(t, "tick"))
		if b, err = l.Compose(q); err != nil || q.Tick > p.Tick && s.keyOf(b) < k || s.laneOf(s.keyOf(b)) != s.laneOf(k) {
			t.Fatalf("the keys of %d and %d do not rise with their ticks", a, b)
		}

		r := evidence.Run{First: a, Step: rapid.SampledFrom([]int64{1, l.Step(), 2 * l.Step(), 7}).Draw(t, "step"), N: rapid.IntRange(1, 500).Draw(t, "n")}
		var got []int64
		whole, err := s.split(r, func(w row) {
			for i := range w.n {
				got = append(got, s.id(w.from+key(i)))
			}
			if s.group(w.from) != s.group(w.from+key(w.n-1)) {
				t.Fatalf("%+v is not of one tick", w)
			}
		})
		if err != nil || whole != (r.First <= s.maxID-r.Step*int64(r.N-1)) || len(got) != 0 && len(got) != r.N || whole != (len(got) == r.N) {
			t.Fatalf("%+v: %d IDs, %v, %v", r, len(got), whole, err)
		}
		for i, id := range got {
			if id != r.First+int64(i)*r.Step {
				t.Fatalf("%+v: %d is %d", r, i, id)
			}
		}
	})
}

// The same run, from files: the same verdict.
func TestJudgeReadsFiles(t *testing.T) {
	s := newStage(t)
	s.record(1, s.lost)
	in, sites := s.evidence()
	want, err := judge(in, sites)
	if err != nil {
		t.Fatal(err)
	}
	c := writeFiles(t, s)
	got, err := Judge(c)
	if err != nil {
		t.Fatal(err)
	}
	if got.Counts != want.Counts || got.Violations() != 10 || got.Findings[Unique].Kinds[IssuedTwice] != 10 {
		t.Errorf("from files: %+v, from memory: %+v", got, want)
	}
	c.Hosts[2].Clients = append(c.Hosts[2].Clients, filepath.Join(t.TempDir(), "none"))
	if _, err := Judge(c); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("with a file that is not there: %v", err)
	}
}

// writeFiles writes the cluster's evidence to files, as a run does.
func writeFiles(t testing.TB, s *stage) Cluster {
	t.Helper()
	dir := t.TempDir()
	c := Cluster{Layout: s.layout, History: slices.Clone(s.stored)}
	for _, h := range s.hosts {
		host := Host{Name: h.name, Steps: h.steps}
		for _, l := range h.starts {
			path := filepath.Join(dir, l[0].Incarnation+".events")
			out := must.Get(evidence.OpenEvents(path))(t)
			for _, e := range l {
				must.Do(t, out.Add(e))
			}
			must.Do(t, out.Close())
			host.Daemons = append(host.Daemons, path)
		}
		path := filepath.Join(dir, h.name+".replies")
		out := must.Get(evidence.CreateReplies(path))(t)
		for _, r := range h.replies {
			must.Do(t, out.Add(r))
		}
		must.Do(t, out.Close())
		host.Clients = append(host.Clients, path)
		c.Hosts = append(c.Hosts, host)
	}
	return c
}
