package daemon

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/serve"
)

// Info is what the INFO command shows of the daemon, in sections of keys and values. Its keys are
// read by `flakeward status` and by people's scripts: they are added to, not changed.
func (d *Daemon) Info() []resp.Section {
	now := d.clock.Now()
	return []resp.Section{d.infoServer(now), d.infoCluster(), d.infoWorker(now), d.lanes.infoGuard(), infoStats(d.server.Counters())}
}

func (d *Daemon) infoServer(now clockguard.Reading) resp.Section {
	return section("Server",
		"flakeward_version", d.config.Version,
		"incarnation", *d.incarnation.Load(),
		"process_id", os.Getpid(),
		"host", d.config.Host,
		"socket", d.config.Socket.Path,
		"state_dir", d.config.StateDir,
		"max_count", d.config.Socket.MaxCount,
		"uptime_in_seconds", int64(now.Mono.Sub(d.begun.Mono)/time.Second),
	)
}

func (d *Daemon) infoCluster() resp.Section {
	unique := "cluster"
	if d.config.coordinator().Embedded {
		unique = "state-directory"
	}
	return section("Cluster",
		"coordinator", d.config.coordinator().Text,
		"cluster_id", d.lanes.cluster(),
		"unique_within", unique,
		"layout", d.layout,
		"datacenter", d.config.IDs.Datacenter,
		"layout_ends", d.layout.End().UTC().Format(time.RFC3339),
		"layout_days_left", int64(d.layout.YearsLeft(time.Unix(0, d.clock.Now().Wall))*daysInYear),
	)
}

// daysInYear is the mean length of a Gregorian year.
const daysInYear = 365.2425

// infoWorker shows the first lane by the keys that there are if it is the only one, and the others
// by the same keys with the lane's number before them.
func (d *Daemon) infoWorker(now clockguard.Reading) resp.Section {
	state, serving := d.lanes.state(now)
	if !d.ready.Load() {
		state = stateStarting
	}
	s := section("Worker", "state", state)
	for _, l := range d.lanes {
		prefix := ""
		if l.number > 0 {
			prefix = fmt.Sprintf("lane%d_", l.number)
			s.Pairs = append(s.Pairs, section("", prefix+"state", l.state(now)).Pairs...)
		}
		s.Pairs = append(s.Pairs, l.info(prefix, now)...)
		if l.number == 0 {
			s.Pairs = append(s.Pairs, section("", "lanes", len(d.lanes), "lanes_ready", serving).Pairs...)
		}
	}
	return s
}

// info is what INFO shows of a lane.
func (l *lane) info(prefix string, now clockguard.Reading) [][2]string {
	h := l.holder.Load().Holding()
	condition := ""
	if err := l.Condition(); err != nil {
		condition = err.Error()
	}
	pairs := section("",
		"worker_id", h.Worker,
		"claim", h.Claim,
		"claimed", h.Claimed,
		"opening", h.Opening,
		"now", l.layout.TickAt(now.Wall),
		"floor", h.Floor,
		"issued", h.Issued,
		"journal_mark", h.Mark,
		"ceiling", h.Granted,
		"ceiling_time", l.layout.StartOf(h.Granted).UTC().Format(time.RFC3339),
		"condition", condition,
	).Pairs
	for i := range pairs {
		pairs[i][0] = prefix + pairs[i][0]
	}
	return pairs
}

func (all lanes) infoGuard() resp.Section {
	return section("Guard",
		"answered_sleep", all.answers(clockguard.Sleep),
		"answered_ring", all.answers(clockguard.Ring),
		"answered_release", all.answers(clockguard.ReLease),
		"answered_backfill", all.answers(clockguard.Backfill),
		"answered_wait", all.answers(clockguard.Wait),
	)
}

func infoStats(c serve.Counters) resp.Section {
	return section("Stats",
		"connected_clients", c.Connections,
		"total_connections_received", c.Accepted,
		"total_commands_processed", c.Requests,
		"total_error_replies", c.Errors,
		"total_ids_issued", c.IDs,
	)
}

// section makes a section of keys and values in turn.
func section(name string, pairs ...any) resp.Section {
	s := resp.Section{Name: name}
	for i := 0; i+1 < len(pairs); i += 2 {
		var value string
		switch v := pairs[i+1].(type) {
		case string:
			value = v
		case uint64:
			value = strconv.FormatUint(v, 10)
		default:
			value = fmt.Sprint(v)
		}
		s.Pairs = append(s.Pairs, [2]string{pairs[i].(string), value})
	}
	return s
}
