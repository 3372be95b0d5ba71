package daemon

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/metrics"
	"github.com/flakeward/flakeward/daemon/serve"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/internal/info"
)

// Info is what the INFO command shows of the daemon, in sections of keys and values. Its keys are
// read by `flakeward status` and by people's scripts: they are added to, not changed.
func (d *Daemon) Info() info.Info {
	f := d.figures()
	sections := info.Info{d.infoServer(f.Now), infoCluster(f), infoWorker(f), infoClock(f), infoGuard(f), infoStats(f, d.counts.Snapshot())}
	// redis-cli takes the first place where a field's name stands, if only at the end of another's.
	sections = append(sections, infoRedis(f.Server, f.Limits.Connections)...)
	return append(sections, infoLimits(f))
}

func (d *Daemon) infoServer(now clockguard.Reading) info.Section {
	return section("Server",
		"flakeward_version", d.config.Version,
		"redis_version", spokenRedis,
		"redis_mode", "standalone",
		"incarnation", *d.incarnation.Load(),
		"process_id", os.Getpid(),
		"host", d.config.Host,
		"socket", absolute(d.config.Socket.Path),
		"max_count", d.config.Socket.MaxCount,
		"form", d.config.IDs.Form,
		"uptime_in_seconds", int64(now.Mono.Sub(d.begun.Mono)/time.Second),
	)
}

// absolute is a path as others can use it, whose working directory is another.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

func infoCluster(f metrics.Figures) info.Section {
	return section("Cluster",
		"coordinator", f.Cluster.Coordinator,
		"cluster_id", f.Cluster.ID,
		"unique_within", f.Cluster.UniqueWithin,
		"cluster_enabled", 0,
		"layout", f.Layout,
		"datacenter", f.Cluster.Datacenter,
		"layout_ends", f.Layout.End().UTC().Format(time.RFC3339),
		"layout_days_left", int64(f.Layout.YearsLeft(time.Unix(0, f.Now.Wall))*daysInYear),
	)
}

// daysInYear is the mean length of a Gregorian year.
const daysInYear = 365.2425

// infoWorker is what INFO shows of the worker ID.
func infoWorker(f metrics.Figures) info.Section {
	h, why, do, ends := f.Holding, "", "", ""
	if f.Condition != nil {
		why = f.Condition.Error()
	}
	var known *condition.Condition
	if errors.As(f.Condition, &known) {
		do = known.Do()
		if !known.Stopped && !known.Ends.IsZero() {
			ends = known.Ends.UTC().Format(time.RFC3339)
		}
	}
	return section("Worker",
		"state", f.State,
		"worker_id", h.Worker,
		"claim", h.Claim,
		"claimed", h.Claimed,
		"opening", h.Opening,
		"now", f.Layout.TickAt(f.Now.Wall),
		"floor", h.Floor,
		"issued", h.Issued,
		"ceiling", h.Granted,
		"ceiling_time", f.Layout.StartOf(h.Granted).UTC().Format(time.RFC3339),
		"condition", why,
		"condition_code", condition.CodeOf(f.Condition),
		"condition_do", do,
		"condition_ends", ends,
	)
}

// infoClock shows whether the clock is believed, and what the kernel says of it.
func infoClock(f metrics.Figures) info.Section {
	state, why, since, do := "followed", "", "", ""
	var code condition.Code
	hold := f.Clock.Hold
	if hold.Ahead > 0 {
		state, code, do = "held", condition.ClockHeld, condition.ClockHeld.Do()
		since = time.Unix(0, hold.From).UTC().Format(time.RFC3339)
		if hold.Conclusion.Why != nil {
			why = hold.Conclusion.Why.Error()
		}
	}
	return section("Clock",
		"clock_state", state,
		"clock_ahead_ms", hold.Ahead.Milliseconds(),
		"clock_held_since", since,
		"clock_condition", why,
		"clock_condition_code", code,
		"clock_condition_do", do,
		"clock_synchronised", f.Clock.Synchronised,
		"clock_max_error_ms", f.Clock.MaxError.Milliseconds(),
		"marks_ahead_ms", f.Clock.MarksAhead.Milliseconds(),
		"clock_steps_ahead", f.Clock.Steps.Ahead,
		"clock_steps_back", f.Clock.Steps.Back,
	)
}

func infoGuard(f metrics.Figures) info.Section {
	return section("Guard",
		"answered_sleep", f.Answers[clockguard.Sleep],
		"answered_ring", f.Answers[clockguard.Ring],
		"answered_release", f.Answers[clockguard.ReLease],
		"answered_backfill", f.Answers[clockguard.Backfill],
		"answered_wait", f.Answers[clockguard.Wait],
	)
}

func infoStats(f metrics.Figures, counted tally.Snapshot) info.Section {
	c := f.Server
	return section("Stats",
		"total_connections_received", c.Accepted,
		"total_commands_processed", c.Requests,
		"rejected_connections", c.Refused[serve.Full],
		"total_error_replies", c.Errors,
		"total_ids_issued", c.IDs,
		"log_dropped", f.LogDropped,
		"rounding_connections", c.Rounded,
		"total_ids_burnt", c.Burnt,
		"request_microseconds", tookText(counted.Durations),
	)
}

// tookText writes how many requests for IDs took how long, in all dialects: "10=20,20=3" says that
// 20 took at most 10 us, and 3 more at most 20 us. None takes longer than an hour.
func tookText(each map[string]tally.Durations) string {
	var all tally.Durations
	for _, d := range each {
		for i, n := range d.Counts {
			all.Counts[i] += n
		}
	}
	var text []byte
	for i, n := range all.Counts {
		if n == 0 {
			continue
		}
		if len(text) > 0 {
			text = append(text, ',')
		}
		bound := time.Hour.Seconds()
		if i < len(tally.Bounds) {
			bound = tally.Bounds[i]
		}
		text = strconv.AppendInt(text, int64(math.Round(bound*1e6)), 10)
		text = strconv.AppendUint(append(text, '='), n, 10)
	}
	return string(text)
}

// infoLimits shows what clients may have, what they have, and who was refused or ended by it.
func infoLimits(f metrics.Figures) info.Section {
	l := f.Limits
	s := section("Limits",
		"memory_limit", l.Memory,
		"memory_limit_source", l.Source,
		"clients_memory_limit", l.Clients,
		"clients_memory", l.ClientsUsed,
		"connections_limit", l.Connections,
	)
	for reason, n := range f.Server.Refused {
		code := strings.ReplaceAll(serve.Reason(reason).String(), "-", "_")
		s.Entries = append(s.Entries, section("", "refused_"+code, n).Entries...)
	}
	return s
}

// section makes a section of keys and values in turn.
func section(name string, pairs ...any) info.Section {
	s := info.Section{Name: name}
	for i := 0; i+1 < len(pairs); i += 2 {
		s.Entries = append(s.Entries, info.Entry{Key: pairs[i].(string), Value: fmt.Sprint(pairs[i+1])})
	}
	return s
}
