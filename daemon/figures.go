package daemon

import (
	"net/http"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/metrics"
)

// figures is what INFO and the metrics show.
func (d *Daemon) figures() metrics.Figures {
	now := d.clock.Now()
	f := metrics.Figures{
		Now: now, Layout: d.layout,
		Cluster: metrics.Cluster{
			Coordinator: d.config.coordinator().Text, ID: d.lane.holder.Load().Holding().Cluster, UniqueWithin: "cluster", Datacenter: d.config.IDs.Datacenter,
			Workers: min(d.layout.Workers(), coord.MaxWorkers),
		},
		Clock:   metrics.Clock{Steps: d.clock.Steps(), MarksAhead: d.lane.marksAhead(now)},
		Answers: make(map[clockguard.Answer]uint64), Waits: make(map[string]uint64),
		Server: d.server.Counters(),
		Limits: metrics.Limits{
			Memory: d.memory.Bytes, Source: d.memory.Source, Clients: d.clients.Limit(), ClientsUsed: d.clients.Used(),
			Connections: d.config.Socket.connections(),
		},
		Timing: metrics.Timing{
			Window: time.Duration(d.lane.holder.Load().Window()) * d.layout.TickLength(), MaxBlock: d.config.Waiting.MaxBlock,
		},
	}
	f.Clock.Hold, _, _ = d.clock.Holding()
	f.Clock.MaxError, f.Clock.Synchronised = d.clock.Synchronised()
	if d.config.coordinator().Local {
		f.Cluster.UniqueWithin = "host"
	}
	k := d.lane.holder.Load()
	f.State, f.Holding, f.Condition = d.lane.state(now), k.Holding(), k.Condition()
	f.Serves = serves(f.State)
	for a := clockguard.Sleep; a <= clockguard.Wait; a++ {
		f.Answers[a] = d.lane.issuer.Answers(a)
	}
	for _, w := range issue.WaitsFor() {
		f.Waits[w.String()] = issue.Waits(d.lane.issuer, w)
	}
	if !d.ready.Load() {
		f.State = stateStarting
	}
	if d.limited != nil {
		f.Limits.Rate = d.limited.Rate()
		f.Limits.Users, f.Limits.UsersRestTook = d.limited.Usages()
		f.Waits["rate"] = d.limited.Waits()
	}
	if d.config.LogDropped != nil {
		f.LogDropped = d.config.LogDropped()
	}
	return f
}

// marksAhead is how far the higher of floor and ceiling is ahead of known time; 0 if none is.
func (l *lane) marksAhead(now clockguard.Reading) time.Duration {
	h := l.holder.Load().Holding()
	if highest := max(h.Floor, h.Granted); highest > 0 {
		return max(0, time.Duration(l.layout.UnixNanos(highest)-now.Wall))
	}
	return 0
}

// Metrics answers scrapes of the daemon. Before it has its socket's lock it answers 503.
func (d *Daemon) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.serving.Load() {
			http.Error(w, "the daemon is starting: ask again soon", http.StatusServiceUnavailable)
			return
		}
		d.metrics.ServeHTTP(w, r)
	})
}
