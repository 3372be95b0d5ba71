package resp_test

import (
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// TestRequestsAreCountedByCommandAndCode: each once, when it is done, also those of a transaction
// and those of a row.
func TestRequestsAreCountedByCommandAndCode(t *testing.T) {
	of := func(command, code string) tally.Request {
		return tally.Request{Dialect: "resp", Command: command, Code: code}
	}
	for _, c := range []struct {
		in   string
		want map[tally.Request]uint64
	}{
		{"PING\r\nPING a\r\n", map[tally.Request]uint64{of("PING", "ok"): 2}},
		{"PING a b\r\n", map[tally.Request]uint64{of("PING", "wrong-arguments"): 1}},
		{"NONE\r\n", map[tally.Request]uint64{of("other", "unknown-command"): 1}},
		{"*1\r\n:\r\n", map[tally.Request]uint64{of("other", "broken-frame"): 1}},
		{"NEXT\r\nNEXT 3\r\nRUN 2\r\n", map[tally.Request]uint64{of("NEXT", "ok"): 2, of("RUN", "ok"): 1}},
		{"*1\r\n$4\r\nNEXT\r\n*1\r\n$4\r\nNEXT\r\n", map[tally.Request]uint64{of("NEXT", "ok"): 2}},
		{"NEXT 0\r\nNEXT 99999999\r\n", map[tally.Request]uint64{of("NEXT", "bad-count"): 1, of("NEXT", "count-too-high"): 1}},
		{"MULTI\r\nNEXT\r\nNEXT 2\r\nEXEC\r\n", map[tally.Request]uint64{of("MULTI", "ok"): 1, of("EXEC", "ok"): 1, of("NEXT", "ok"): 2}},
		{"CLIENT MAINT_NOTIFICATIONS ON\r\nCLIENT CAPA redirect\r\nSENTINEL MASTERS\r\nCLUSTER SLOTS\r\nREADONLY\r\nCOMMAND DOCS\r\n", map[tally.Request]uint64{
			of("CLIENT", "declined"): 2, of("COMMAND", "declined"): 1, of("other", "declined"): 3,
		}},
		{"MULTI\r\nSUBSCRIBE a b\r\nEXEC\r\n", map[tally.Request]uint64{of("MULTI", "ok"): 1, of("EXEC", "ok"): 1, of("SUBSCRIBE", "bad-option"): 1}},
		{"MULTI\r\nNEXT\r\nDISCARD\r\n", map[tally.Request]uint64{of("MULTI", "ok"): 1, of("DISCARD", "ok"): 1}},
	} {
		table := &tally.Table{}
		h := resp.NewHandler(resp.Config{Source: &ticks{}, Layout: layout(t, "twitter"), Count: table})
		_, _, _ = h.Serve(&resp.Session{}, []byte(c.in), nil)
		resp.Publish(h)
		got := table.Snapshot().Requests
		maps.DeleteFunc(got, func(_ tally.Request, n uint64) bool { return n == 0 })
		if !maps.Equal(got, c.want) {
			t.Errorf("%q:\n got %v\nwant %v", c.in, got, c.want)
		}
	}
}

// TestAClientThatLeftIsCounted: with as many requests as it had, and no more than once.
func TestAClientThatLeftIsCounted(t *testing.T) {
	for in, want := range map[string]uint64{"NEXT 10\r\n": 1, "RUN 10\r\n": 1, "*1\r\n$4\r\nNEXT\r\n*1\r\n$4\r\nNEXT\r\n*1\r\n$4\r\nNEXT\r\n": 2} {
		table := &tally.Table{}
		h := resp.NewHandler(resp.Config{Source: &some{left: 1}, Layout: layout(t, "twitter"), Count: table})
		var s resp.Session
		_, _, _ = h.Serve(&s, []byte(in), nil)
		h.Abandon(&s)
		h.Abandon(&s)
		resp.Publish(h)
		var gone uint64
		for of, n := range table.Snapshot().Requests {
			if of.Code == tally.Gone {
				gone += n
			}
		}
		if gone != want {
			t.Errorf("%q: %d are gone, want %d", in, gone, want)
		}
	}
}

// nobody owns a lane.
type nobody struct{}

func (nobody) ReLease(*generator.Lane) {}
func (nobody) ExtendNow()              {}
func (nobody) CanAcquire() bool        { return false }
func (nobody) Condition() error        { return errors.New("x") }

// TestDurationsCountFromWhenARequestFirstAsked: one that waited counts from then on, and one that
// was served at once from the first reading of its round.
func TestDurationsCountFromWhenARequestFirstAsked(t *testing.T) {
	l := layout(t, "twitter")
	clock := clocktest.NewManual(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	clock.Advance(time.Second) // a reading of 0 is none
	issuer := issue.New(l, clock, issue.Limits{Guard: clockguard.Limits{MaxSleep: time.Millisecond, Span: time.Second}, MaxBlock: time.Minute}, nobody{})
	table := &tally.Table{}
	h := resp.NewHandler(resp.Config{Source: issuer, Layout: l, Count: table})
	var waits, here resp.Session
	_, _, next := h.Serve(&waits, []byte("NEXT\r\n"), nil) // there is no lane yet
	if next.State != resp.Wait || resp.Publish(h) {
		t.Fatalf("a request without a lane: %+v", next)
	}
	clock.Advance(3 * time.Second)
	lane := must.Get(generator.NewLane(l, 0, 1, l.TickAt(clock.Now().Wall)-1))(t)
	lane.Raise(l.TickAt(clock.Now().Wall) + 100_000)
	issuer.Use(lane)
	clock.Advance(10 * time.Millisecond)
	_, _, _ = h.Serve(&waits, nil, nil)
	_, _, _ = h.Serve(&here, []byte("NEXT\r\nPING\r\n"), nil)
	if !resp.Publish(h) {
		t.Fatal("nothing is timed")
	}
	clock.Advance(2 * time.Millisecond)
	resp.Observe(h, clock.Now().Mono)
	d := table.Durations("resp").Read()
	if want := 3*time.Second + 10*time.Millisecond + 2*2*time.Millisecond; d.Sum != want {
		t.Errorf("two requests took %v, want %v", d.Sum, want)
	}
	if resp.Publish(h) {
		t.Error("they are timed twice")
	}
}

// TestHalfARequestHasNotWaited: one that begins behind a request which waits, and comes whole after
// that was answered, draws on no tick before it came.
func TestHalfARequestHasNotWaited(t *testing.T) {
	l := layout(t, "twitter")
	clock := clocktest.NewManual(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	issuer := issue.New(l, clock, issue.Limits{Guard: clockguard.Limits{MaxSleep: time.Millisecond, Span: time.Second}, MaxBlock: time.Minute}, nobody{})
	lane := must.Get(generator.NewLane(l, 0, 1, l.TickAt(clock.Now().Wall)-1))(t)
	lane.Raise(l.TickAt(clock.Now().Wall) + 100_000)
	issuer.Use(lane)
	h := resp.NewHandler(resp.Config{Source: issuer, Layout: l})
	var other, s resp.Session
	other.ID = 1
	_, _, _ = h.Serve(&other, []byte("RUN 3584\r\n"), nil) // all but what is kept of the tick
	in := []byte("RUN 1000\r\nNEX")
	used, _, next := h.Serve(&s, in, nil)
	if next.State != resp.Wait {
		t.Fatalf("%+v", next)
	}
	clock.Advance(time.Millisecond)
	used2, _, next := h.Serve(&s, in[used:], nil)
	if used += used2; next.State != resp.Read || used != len("RUN 1000\r\n") {
		t.Fatalf("%d bytes are used: %+v", used, next)
	}
	clock.Advance(5 * time.Millisecond)
	came := l.TickAt(clock.Now().Wall)
	_, reply, _ := h.Serve(&s, []byte("NEXT\r\n"), nil)
	id := must.Get(strconv.ParseInt(strings.Trim(string(reply), ":\r\n"), 10, 64))(t)
	if parts, err := l.Decompose(id); err != nil || parts.Tick != came {
		t.Errorf("its ID is of %d ticks before it came, %v", came-parts.Tick, err)
	}
}
