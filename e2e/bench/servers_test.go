package bench

import (
	"math"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/e2e/bench/usage"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
	"github.com/flakeward/flakeward/internal/wire"
)

// server is a daemon or a peer that runs, at most until the section ends.
type server struct {
	*process.Process
	name    string
	socket  string
	request []string // the one that is measured
}

// until waits until a server that was started does something.
func (s *section) until(what string, of *process.Process, does func() error) {
	s.Helper()
	s.Cleanup(func() { <-of.Ended() }) // it ends with the context, and its directory is removed next
	must.Soon(s, func() bool {
		select {
		case <-of.Ended():
			s.Fatal(of.Gone())
		default:
		}
		return does() == nil
	}, "%s", what)
}

// host is where daemons run one after the other, on the machine's clock.
func (s *section) host(flags ...string) *process.Host {
	s.Helper()
	h := must.Get(process.NewHost(s.binary, filepath.Join(sockettest.Dir(s), "h"), flags...))(s)
	h.Clock = nil
	return h
}

// start starts a daemon and returns when a client has its first ID, with how long that took from
// before the start.
func (s *section) start(h *process.Host) (*process.Process, time.Duration) {
	s.Helper()
	d := must.Get(h.Start(s.Context()))(s)
	s.until("the daemon gives an ID", d.Process, func() error {
		_, err := load.Ask(s.Context(), h.Socket, (*wire.Reader).Int, "NEXT")
		return err
	})
	return d.Process, time.Since(d.Begun)
}

// daemon is one with flags, in a directory of its own.
func (s *section) daemon(flags ...string) server {
	s.Helper()
	h := s.host(flags...)
	d, _ := s.start(h)
	return server{d, "flakeward", h.Socket, []string{"NEXT"}}
}

// redisCounter is the request of Redis, as it is called in the tables.
const redisCounter = "Redis INCR"

// redis is a counter in a Redis that keeps nothing on disk, with more arguments.
func (s *section) redis(args ...string) server {
	s.Helper()
	for name, program := range map[string]string{"Redis": redisbench.Server, redisbench.Program: redisbench.Program} {
		s.version(name, need.Program(s, program, "scripts/need peers"), "--version")
	}
	p, socket, err := redisbench.Start(s.Context(), sockettest.Dir(s), args...)
	must.Do(s, err)
	s.Cleanup(func() { <-p.Ended() })
	return server{p, redisCounter, socket, []string{"INCR", "k"}}
}

// constant is a server of the libraries that the daemon has for HTTP and gRPC. It answers as the
// daemon does, without IDs being issued.
func (s *section) constant() server {
	s.Helper()
	socket := filepath.Join(sockettest.Dir(s), "s")
	p := must.Get(process.Start(s.Context(), process.Program{Command: []string{must.Get(os.Executable())(s), "constant", socket}}))(s)
	s.until("the constant is served", p, func() error {
		c, err := net.Dial("unix", socket)
		if err == nil {
			_ = c.Close()
		}
		return err
	})
	return server{p, "constant", socket, nil}
}

// redisBenchmark measures requests to a server in rounds of about that length, as redis-benchmark
// sends them.
func (s *section) redisBenchmark(of server, l redisbench.Load, long time.Duration) contestant {
	s.Helper()
	l.Socket, l.Command = of.socket, of.request
	run := func() sample {
		s.Helper()
		before := must.Get(usage.CPUOf(of.PID()))(s)
		r, err := redisbench.Run(s.Context(), l)
		if err != nil {
			s.Fatalf("%v; %s says last:\n%s", err, of.name, of.Tail())
		}
		cpu := must.Get(usage.CPUOf(of.PID()))(s) - before
		return sample{"rate": r.Rate, "p50": r.P50.Seconds(), "p99": r.P99.Seconds(), "cpu": cpu.Seconds() / float64(l.Requests)}
	}
	// How many requests make a round: the first run is slow to get going, so the second decides.
	l.Requests = max(1000*l.Pipeline, l.Clients)
	for _, of := range []time.Duration{long / 8, long} {
		l.Requests = max(int(math.Ceil(run()["rate"]*of.Seconds())), l.Clients*l.Pipeline)
	}
	return contestant{of.name, run}
}

// both measures two servers under a load of redis-benchmark.
func (s *section) both(ours, theirs server, of shape) (a, b []sample) {
	s.Helper()
	l, long := redisbench.Load{Clients: of.clients, Pipeline: of.pipeline}, length(1500*time.Millisecond)
	got := s.inTurn(times(fullRounds, 2), s.redisBenchmark(ours, l, long), s.redisBenchmark(theirs, l, long))
	return got[0], got[1]
}
