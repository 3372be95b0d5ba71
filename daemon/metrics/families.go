package metrics

import (
	"math"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/daemon/serve"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/generator"
)

// family is all metrics of one name, and where a scrape finds their values.
type family struct {
	name   string // without the prefix
	kind   prometheus.ValueType
	labels []string
	help   string
	read   func(s *scrape, put put)
}

// put makes a metric of a value, with the labels' values in their order.
type put func(value float64, labels ...string)

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

// families are all that a scrape reads from the daemon's own counters. docs/metrics.md shows them.
var families = []family{
	{"build_info", gauge, []string{"version", "goversion"}, "1, for the daemon's version.",
		func(s *scrape, put put) { put(1, s.from.Version, runtime.Version()) }},
	{"cluster_info", gauge, []string{"cluster_id", "datacenter", "layout", "unique_within"}, "1 for the cluster whose IDs are issued; an empty cluster_id: none yet.",
		func(s *scrape, put put) {
			put(1, s.Cluster.ID, strconv.FormatUint(s.Cluster.Datacenter, 10), s.Layout.String(), s.Cluster.UniqueWithin)
		}},
	value("ready", gauge, "1 if IDs can be issued.", func(s *scrape) float64 { return truth(s.Serves) }),
	{"in_condition", gauge, []string{"code"}, "1 for the condition that keeps IDs from being issued or the grant from growing.",
		func(s *scrape, put put) {
			in := condition.CodeOf(s.Condition)
			for _, e := range condition.Table {
				if e.Code.Lasts() {
					put(truth(e.Code == in), string(e.Code))
				}
			}
		}},
	{"events_total", counter, []string{"code"}, "Events that the log has with a code.",
		func(s *scrape, put put) {
			for _, e := range condition.Table {
				if e.Code.Logged() {
					put(float64(s.from.Events.Of(e.Code)), string(e.Code))
				}
			}
		}},
	value("worker_id", gauge, "Worker ID that is issued from; -1: none.", func(s *scrape) float64 { return float64(s.Holding.Worker) }),
	tick("ceiling_timestamp_seconds", "Time up to which ticks were granted.", func(s *scrape) generator.Tick { return s.Holding.Granted }),
	{"published_timestamp_seconds", gauge, nil, "Time of the coordinator's last grant.",
		func(s *scrape, put put) {
			if s.Holding.Published > 0 {
				put(unix(s.Holding.Published))
			}
		}},
	value("worker_ids_held", gauge, "Worker IDs that the daemon has claimed.", func(s *scrape) float64 { return float64(s.Holding.Claims) }),
	value("worker_ids", gauge, "Worker IDs that the layout has.", func(s *scrape) float64 { return float64(s.Cluster.Workers) }),
	value("layout_end_timestamp_seconds", gauge, "End of the layout's time.", func(s *scrape) float64 { return float64(s.Layout.End().Unix()) }),
	value("window_seconds", gauge, "How far ahead of the clock a grant reaches at most: the cluster's window.", func(s *scrape) float64 { return s.Timing.Window.Seconds() }),
	value("max_block_seconds", gauge, "How long a request waits at most (--max-block).", func(s *scrape) float64 { return s.Timing.MaxBlock.Seconds() }),

	value("clock_timestamp_seconds", gauge, "Trusted time: the host's clock, unless that is ahead and held.", func(s *scrape) float64 { return unix(s.Now.Wall) }),
	value("clock_held_offset_seconds", gauge, "How far the host's clock is ahead and not believed; 0: it is followed.", func(s *scrape) float64 { return s.Clock.Hold.Ahead.Seconds() }),
	value("clock_synchronised", gauge, "1 if the kernel calls the clock synchronised.", func(s *scrape) float64 { return truth(s.Clock.Synchronised) }),
	value("clock_error_bound_seconds", gauge, "The kernel's bound on the clock's error; +Inf: it has none.", func(s *scrape) float64 {
		if !s.Clock.Synchronised {
			return math.Inf(1)
		}
		return s.Clock.MaxError.Seconds()
	}),
	{"clock_steps_total", counter, []string{"direction"}, "Steps of the host's clock, ahead or back.",
		func(s *scrape, put put) {
			put(float64(s.Clock.Steps.Ahead), "ahead")
			put(float64(s.Clock.Steps.Back), "back")
		}},
	value("marks_ahead_seconds", gauge, "How far the highest floor or ceiling is ahead of trusted time.", func(s *scrape) float64 { return s.Clock.MarksAhead.Seconds() }),
	{"guard_answers_total", counter, []string{"answer"}, "What the clock guard decided where the clock was behind the last ID.",
		func(s *scrape, put put) {
			for a := clockguard.Sleep; a <= clockguard.Wait; a++ {
				put(float64(s.Answers[a]), a.String())
			}
		}},

	value("ids_issued_total", counter, "IDs that were issued.", func(s *scrape) float64 {
		total := uint64(0)
		for _, n := range s.counted.IDs {
			total += n
		}
		return float64(total)
	}),
	{"ids_issued_by_form_total", counter, []string{"form"}, "The same IDs by how they were written.",
		func(s *scrape, put put) {
			if _, ok := s.counted.IDs[tally.Integer]; !ok { // a rate begins with a 0
				put(0, tally.Integer)
			}
			for form, n := range s.counted.IDs {
				put(float64(n), form)
			}
		}},
	tick("issued_timestamp_seconds", "Time of the highest tick that was issued.", func(s *scrape) generator.Tick { return s.Holding.Issued }),
	value("ids_burnt_total", counter, "IDs taken for requests that were given up.", func(s *scrape) float64 { return float64(s.Server.Burnt) }),
	{"requests_total", counter, []string{"dialect", "command", "code"}, "Requests, by their outcome.",
		func(s *scrape, put put) {
			for of, n := range s.counted.Requests {
				put(float64(n), of.Dialect, of.Command, of.Code)
			}
		}},
	value("requests_waiting", gauge, "Requests that wait for IDs now.", func(s *scrape) float64 { return float64(s.Server.Waiting) }),
	{"request_waits_total", counter, []string{"reason"}, "Requests that waited, by what for first.",
		func(s *scrape, put put) {
			for reason, n := range s.Waits {
				put(float64(n), reason)
			}
		}},

	value("connections", gauge, "Open connections.", func(s *scrape) float64 { return float64(s.Server.Connections) }),
	value("connections_limit", gauge, "Limit of open connections.", func(s *scrape) float64 { return float64(s.Limits.Connections) }),
	value("connections_accepted_total", counter, "Connections that were accepted.", func(s *scrape) float64 { return float64(s.Server.Accepted) }),
	{"connections_refused_total", counter, []string{"reason"}, "Connections that were refused or ended.",
		func(s *scrape, put put) {
			for reason, n := range s.Server.Refused {
				put(float64(n), serve.Reason(reason).String())
			}
		}},
	value("memory_limit_bytes", gauge, "Limit of the process's memory.", func(s *scrape) float64 { return float64(s.Limits.Memory) }),
	value("clients_memory_bytes", gauge, "Memory that connections use.", func(s *scrape) float64 { return float64(s.Limits.ClientsUsed) }),
	value("clients_memory_limit_bytes", gauge, "Limit of the memory that connections use.", func(s *scrape) float64 { return float64(s.Limits.Clients) }),
	{"user_rate_limit", gauge, nil, "IDs that each user may take in a second, if there is a limit.",
		func(s *scrape, put put) {
			if n := s.Limits.Rate.PerSecond; n > 0 {
				put(float64(n))
			}
		}},
	{"user_ids_total", counter, []string{"uid"}, "IDs that a user's rate allowed: the first 32 users, the others as other.",
		func(s *scrape, put put) {
			for _, u := range s.Limits.Users {
				put(float64(u.IDs), uid(u))
			}
			put(float64(s.Limits.UsersRestTook), "other")
		}},
	value("log_lines_dropped_total", counter, "Lines of the log that could not be written.", func(s *scrape) float64 { return float64(s.LogDropped) }),
}

// value is a family of one metric without labels.
func value(name string, kind prometheus.ValueType, help string, of func(*scrape) float64) family {
	return family{name, kind, nil, help, func(s *scrape, put put) { put(of(s)) }}
}

// tick is a family whose value is the start of a tick; of tick 0 there is none.
func tick(name, help string, of func(*scrape) generator.Tick) family {
	return family{name, gauge, nil, help, func(s *scrape, put put) {
		if t := of(s); t > 0 {
			put(unix(s.Layout.UnixNanos(t)))
		}
	}}
}

// unix makes seconds of nanoseconds, to the millisecond.
func unix(nanos int64) float64 { return float64(nanos/int64(time.Millisecond)) / 1000 }

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// uid names a user.
func uid(u issue.Usage) string {
	switch {
	case u.Address.IsValid():
		return u.Address.String()
	case u.UID == queue.Nobody:
		return "unknown"
	}
	return strconv.FormatUint(uint64(u.UID), 10)
}
