//go:build e2e

package drills

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flakeward/flakeward/audit"
	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/e2e/compose"
)

// run runs a drill from the first container to the last. What is wrong is in the record's Failed.
func (s *suite) run(ctx context.Context, d Drill, log func(string, ...any)) (record *Record) {
	record = &Record{Name: d.Name, Coordinator: s.coordinator}
	var failed []string
	fails := func(what string, err error) bool {
		if err != nil {
			failed = append(failed, what+": "+err.Error())
		}
		return err != nil
	}
	defer func() { record.Failed = strings.Join(failed, "; ") }()
	if fails("the coordinator does not start", caught(func() { s.start(ctx) })) {
		return record
	}
	r, err := s.newRun(d, log)
	if fails("it cannot be set up", err) {
		return record
	}
	defer r.file.Close() // the log has the steps too
	s.members.r = r

	res := &Result{Record: record, Run: r}
	var judge func(res *Result)
	setup := time.Now()
	ready := !fails("the hosts do not serve", caught(func() { r.up(ctx) }))
	log("set up in %v", time.Since(setup).Round(time.Millisecond))
	res.Began = evidence.Now()
	if ready {
		ctx, cancel := context.WithTimeoutCause(ctx, r.options.Limit, fmt.Errorf("the drill's time of %v is over", r.options.Limit))
		ready = !fails("the script", caught(func() { judge = d.Script(ctx, r) }))
		cancel()
	}
	res.Ended = evidence.Now()
	record.Faults = r.faults

	// From here on nothing may be left out because the time is up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	teardown := time.Now()
	known := s.down(ctx, r, fails, res)
	log("taken down in %v", time.Since(teardown).Round(time.Millisecond))
	if !known { // each acknowledgement would look like a lie
		return record
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	judging := time.Now()
	fails("it cannot be judged", r.judged(res, ready))
	if ready {
		fails("the judge", caught(func() { judge(res) }))
	}
	failed = append(failed, res.failed...)
	log("judged in %v", time.Since(judging).Round(time.Millisecond))
	return record
}

// down ends a drill: the clients in order, so that all is recorded, then the daemons. The
// coordinator is brought back and its history is read, the logs are kept, and nothing is left but
// files. It returns whether there is all that is judged.
func (s *suite) down(ctx context.Context, r *Run, fails func(what string, err error) bool, res *Result) (known bool) {
	var clients []string
	for _, h := range r.Hosts {
		clients = append(clients, h.client)
	}
	fails("the clients", s.clients(ctx, r, "has ended by itself: nothing was asked from then on", func(c compose.State) bool { return c.Running }))
	_, err := s.engine.Docker(ctx, append([]string{"stop", "--time", "30"}, clients...)...)
	fails("the clients", err)
	fails("the clients", s.clients(ctx, r, "did not end in order: what it had not written is missing", func(c compose.State) bool { return c.Status == 0 }))
	unread := fails("the evidence", caught(func() {
		each(r.Hosts, func(h *Host) {
			_, _ = s.engine.Docker(ctx, "kill", h.container) // the dead cannot be killed
			for name, container := range map[string]string{"daemon": h.container, "client": h.client} {
				text := mustGet(s.engine.Logs(ctx, container))
				must(os.WriteFile(filepath.Join(r.Dir, "logs", name+strings.TrimPrefix(h.Name, "host")+".log"), []byte(text), 0o644))
			}
			h.Replies = inOrder(mustGet(h.watch.end()))
		})
	}))
	fails("not all was removed", r.project.Remove(ctx))
	unknown := fails("the coordinator", caught(func() {
		s.members.restore(ctx)
		res.History, res.Past = r.History(ctx), r.past
		keepHistory(filepath.Join(r.Dir, "history.jsonl"), append(slices.Clone(r.past), res.History))
	}))
	return !unread && !unknown
}

// clients says which clients are not as they should be. One that is gone fails no request, and
// stalls nobody.
func (s *suite) clients(ctx context.Context, r *Run, wrong string, well func(compose.State) bool) error {
	return caught(func() {
		each(r.Hosts, func(h *Host) {
			if c := mustGet(s.engine.State(ctx, h.client)); !well(c) {
				fail("the client of %s %s (status %d)", h.Name, wrong, c.Status)
			}
		})
	})
}

// keepHistory writes a line of JSON for each version. It numbers the trees: a wipe begins one.
func keepHistory(path string, trees [][]history.Version) {
	type line struct {
		Tree int
		history.Version
	}
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	for tree, versions := range trees {
		for _, v := range versions {
			must(to.Encode(line{tree, v}))
		}
	}
	must(os.WriteFile(path, b.Bytes(), 0o644))
}

// judged judges the evidence. What fails of a drill that was played to its end, other than by
// violations, is in the result.
func (r *Run) judged(res *Result, played bool) error {
	cluster := audit.Cluster{Layout: r.Layout, History: res.History, Past: res.Past, Floor: r.made, Raises: r.raises, Unordered: r.options.Unordered, Lead: r.options.Lead, Wall: r.trueTime(0), Linear: true}
	for i, h := range r.Hosts {
		site := audit.Host{Name: h.Name, Steps: h.steps}
		site.Daemons, _ = filepath.Glob(filepath.Join(h.dir, "daemon", "*.events"))
		site.Clients, _ = filepath.Glob(filepath.Join(h.dir, "client", "*.replies"))
		if r.options.Shared && i > 0 { // who asks on one socket asks one host, whoever answers
			first := &cluster.Hosts[0]
			first.Daemons, first.Clients = append(first.Daemons, site.Daemons...), append(first.Clients, site.Clients...)
		} else {
			cluster.Hosts = append(cluster.Hosts, site)
		}
		if got := h.Replies.IDs(0, endless); played && got < r.options.Least {
			res.Fail("%s got %d IDs, and at least %d were to come: the drill shows nothing", h.Name, got, r.options.Least)
		}
		begun, _ := h.Replies.First(0)
		res.LongestStall = max(res.LongestStall, h.Replies.LongestStall(begun.Answered, res.Ended))
	}
	if played && len(res.Faults) == 0 && !r.options.NoFault {
		res.Fail("nothing was broken: the drill shows nothing")
	}
	var err error
	res.Verdict, err = audit.Judge(cluster)
	res.IDs, res.Violations, res.Examples = res.Verdict.Issued, res.Verdict.Violations(), res.Verdict.Examples()
	return err
}
