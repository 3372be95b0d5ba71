package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/e2e/bench/pace"
	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/e2e/bench/usage"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/wire"
)

// shape is a load of redis-benchmark.
type shape struct{ clients, pipeline int }

func (s shape) String() string { return fmt.Sprintf("%d x %d", s.clients, s.pipeline) }

// socket compares single IDs with increments of a counter. Both servers run all the time.
func socket(s *section) {
	daemon, redis := s.daemon(), s.redis()
	var rates, costs, waits []report.Figure
	for _, of := range []shape{{1, 1}, {50, 1}, {500, 1}, {50, 16}, {50, 100}} {
		ours, theirs := s.both(daemon, redis, of)
		next := func(group, what string, unit report.Unit, name string) report.Figure {
			return versus(group, of.String()+what, unit, ours, redisCounter, theirs, name)
		}
		const wait = "What redis-benchmark's clients wait"
		rates = append(rates, next("Single IDs over the socket, next to "+redisCounter, "", report.Rate, "rate").RatioAtLeast(1))
		costs = append(costs, next("The server's processor time for a single ID", "", report.Seconds, "cpu").RatioAtMost(1))
		waits = append(waits, next(wait, ", p50", report.Seconds, "p50"), next(wait, ", p99", report.Seconds, "p99"))
	}
	s.add(slices.Concat(rates, costs, waits)...)
}

// openLoop has requests sent at their times whatever is answered, to the daemon and to Redis in
// turn: 50,000 a second, for which Leaf publishes a figure.
func openLoop(s *section) {
	var all []contestant
	for _, of := range []server{s.daemon(), s.redis()} {
		l := pace.Load{Socket: of.socket, Request: of.request, Rate: 50000, Connections: 50, Warm: 500 * time.Millisecond, Length: length(3500 * time.Millisecond)}
		all = append(all, contestant{of.name, func() sample {
			l.Seed++ // both get the same schedule in a round, and another one in the next
			return s.paced(of, l)
		}})
	}
	got := s.inTurn(times(fullRounds, 2), all...)
	const group = "Open loop, 50,000 requests/s over 50 connections"
	for _, q := range []struct {
		name  string
		ahead bool          // at most the peer's is the target
		limit time.Duration // 0: none
	}{
		{"p50", false, 0},
		{"p99", true, 500 * time.Microsecond},
		{"p99.9", true, time.Millisecond},
		{"p99.99", true, 0},
	} {
		f := versus(group, q.name, report.Seconds, got[0], redisCounter, got[1], q.name)
		late := func(of []sample) string {
			return report.Format(report.Seconds, report.Median(column(of, "late "+q.name)))
		}
		f.Note = "generator late by " + late(got[0]) + ", " + late(got[1])
		if q.ahead {
			f = f.RatioAtMost(1)
		}
		s.add(f)
		if q.limit > 0 {
			s.add(report.Figure{Group: group, What: q.name + ", by itself", Unit: report.Seconds, Ours: f.Ours}.AtMost(q.limit.Seconds()))
		}
	}
}

// paced runs an open-loop load in a process of its own. Requests that got nothing end the section:
// there would be no figure for them.
func (s *section) paced(of server, l pace.Load) sample {
	s.Helper()
	c := exec.CommandContext(s.Context(), must.Get(os.Executable())(s), "pace", string(must.Get(json.Marshal(l))(s)))
	c.SysProcAttr, c.Stderr = process.Orphanless(), os.Stderr
	var r pace.Result
	out, err := c.Output()
	if err = errors.Join(err, json.Unmarshal(out, &r)); err != nil || r.Refused > 0 {
		s.Fatalf("%v: of %d requests %d were refused; %s says last:\n%s", err, r.Sent, r.Refused, of.name, of.Tail())
	}
	got := sample{}
	for before, spread := range map[string]pace.Spread{"": r.Latency, "late ": r.Late} {
		for name, d := range map[string]time.Duration{"p50": spread.P50, "p99": spread.P99, "p99.9": spread.P999, "p99.99": spread.P9999} {
			got[before+name] = d.Seconds()
		}
	}
	return got
}

// keepPace is the open-loop generator in a process of its own.
func keepPace(t must.T, text string) {
	var l pace.Load
	must.Do(t, json.Unmarshal([]byte(text), &l))
	must.Do(t, json.NewEncoder(os.Stdout).Encode(must.Get(pace.Run(context.Background(), l))(t)))
}

// idle looks at what connections cost that do nothing, after one request each: memory, and the
// speed of those that do something.
func idle(s *section) {
	const group = "Idle connections"
	idle, room := times(10_000, 500), 200 // for other connections, and the server's own open files
	s.openFiles(uint64(2*idle + room))    // those to both servers are this process's
	most := strconv.Itoa(idle + room/2)
	daemon, redis := func() server { return s.daemon("--max-connections", most) }, func() server { return s.redis("--maxclients", most) }
	var all []contestant
	for _, start := range []func() server{daemon, redis} {
		all = append(all, contestant{"a server that has just been started", func() sample {
			of := start()
			defer of.Kill()
			before := must.Get(usage.MemoryOf(of.PID()))(s)
			defer s.hold(of, idle)()
			return sample{"memory": float64(must.Get(usage.MemoryOf(of.PID()))(s).Resident-before.Resident) / float64(idle)}
		}})
	}
	got := s.inTurn(times(fullRounds, 1), all...)
	number := report.Format(report.Number, float64(idle))
	memory := versus(group, "memory of each of "+number, report.Bytes, got[0], "Redis", got[1], "memory").AtMost(10_000)
	memory.Note = "growth of the server's resident size (VmRSS), one request made on each"
	s.add(memory)

	a, b := daemon(), redis()
	defer s.hold(a, idle)()
	defer s.hold(b, idle)()
	for _, of := range []shape{{50, 1}, {50, 16}} {
		ours, theirs := s.both(a, b, of)
		what := fmt.Sprintf("%v with %s idle", of, number)
		s.add(versus(group, what, report.Rate, ours, redisCounter, theirs, "rate").RatioAtLeast(1),
			versus(group, what+", p99", report.Seconds, ours, redisCounter, theirs, "p99"))
	}
}

// hold opens connections to a server, makes one request on each, and keeps them until end. A reader
// for each would take more memory than what is measured: both servers answer by one integer, in a
// line that comes in one piece.
func (s *section) hold(of server, connections int) (end func()) {
	s.Helper()
	var held []net.Conn
	request, reply := wire.AppendCommand(nil, of.request...), make([]byte, 128)
	for range connections {
		c := must.Get(net.Dial("unix", of.socket))(s)
		held = append(held, c)
		must.Get(c.Write(request))(s)
		if n := must.Get(c.Read(reply))(s); reply[0] != ':' || reply[n-1] != '\n' {
			s.Fatalf("connection %d is answered by %q", len(held), reply[:n])
		}
	}
	return func() {
		for _, c := range held {
			_ = c.Close() // nothing is written that could be lost
		}
	}
}

// openFiles raises the limit on open files of this process and of what it starts from now on, as
// far as that is allowed.
func (s *section) openFiles(wanted uint64) {
	s.Helper()
	var l unix.Rlimit
	must.Do(s, unix.Getrlimit(unix.RLIMIT_NOFILE, &l))
	// Set in any case: only a limit that this process has set is passed on.
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: max(l.Cur, wanted), Max: max(l.Max, wanted)}); err != nil {
		s.Fatalf("%d open files are needed and %d allowed: raise the limit (ulimit -n %d)", wanted, l.Max, wanted)
	}
}
