package bench

import (
	"fmt"
	"time"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
)

const (
	// publish is the daemon's default: a record's ceiling is raised as often, so the ends under
	// load are spread over it.
	publish = time.Second
	// mostDirectory and mostRunning are what a start may take: one with a directory, and one whose
	// coordinator is a server that runs.
	mostDirectory = 150 * time.Millisecond
	mostRunning   = 50 * time.Millisecond
)

// starts starts daemons after every kind of end, and beside every kind of coordinator.
func starts(s *section) {
	stop := func(d *process.Process) error { return d.Stop(s.Context()) }
	slowest := func(what string, took []float64) {
		s.add(startFigure(what, took, "the slowest counts").EachAtMost(mostDirectory.Seconds()))
	}
	rounds := times(9, 3)
	slowest("directory, a new one", s.freshStarts(rounds))
	slowest("directory, after SIGTERM under load", s.restarts(rounds, stop))
	slowest("directory, after kill -9 under load", s.restarts(rounds, (*process.Process).Kill))
	// With etcd's own defaults, and not those of tests.
	etcd := etcdtest.Start(s, etcdtest.Options{Flags: []string{
		"--unsafe-no-fsync=false", "--heartbeat-interval", "100", "--election-timeout", "1000", "--log-level", "error",
	}})
	zookeeper := zktest.Start(s, zktest.Options{})
	for _, of := range []struct{ name, url string }{{"etcd", etcd.URL("start")}, {"ZooKeeper", "zk://" + zookeeper.Addresses()[0] + "/start"}} {
		s.freshStarts(2, "--coord", of.url) // a Java server's first answers take a tenth of a second
		for _, kind := range []struct {
			name string
			took []float64
		}{
			{"a new host", s.freshStarts(rounds, "--coord", of.url)},
			{"after SIGTERM under load", s.restarts(rounds, stop, "--coord", of.url)},
		} {
			s.add(startFigure(of.name+" is running, "+kind.name, kind.took, "the median counts").AtMost(mostRunning.Seconds()))
		}
	}
}

func startFigure(what string, took []float64, counts string) report.Figure {
	return report.Figure{Group: "Start, to the first whole reply", What: what, Unit: report.Seconds, Ours: took, Note: fmt.Sprintf("%d starts; %s", len(took), counts)}
}

// freshStarts starts daemons of hosts that are new, each after the one before has stopped.
func (s *section) freshStarts(rounds int, flags ...string) (took []float64) {
	s.Helper()
	for range rounds {
		d, t := s.start(s.host(flags...))
		must.Do(s, d.Stop(s.Context()))
		took = append(took, t.Seconds())
	}
	return took
}

// restarts starts daemons of one host, each after the one before was ended while a client pulled
// IDs from it, and still did.
func (s *section) restarts(rounds int, end func(*process.Process) error, flags ...string) (took []float64) {
	s.Helper()
	h := s.host(flags...)
	d, _ := s.start(h)
	for i := range rounds {
		client := must.Get(load.Open(s.Context(), h.Socket, load.Config{Row: 500, Window: 4}))(s)
		must.Do(s, client.Await(s.Context(), 1))
		<-time.After(publish + publish*time.Duration(i)/time.Duration(rounds)) // spread evenly between two publishes
		must.Do(s, end(d))
		_, _, _ = client.Close() // the daemon has ended the connection
		var t time.Duration
		d, t = s.start(h)
		took = append(took, t.Seconds())
	}
	must.Do(s, d.Kill())
	return took
}
