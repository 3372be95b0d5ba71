//go:build e2e

package drills

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flakeward/flakeward/audit"
	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/e2e/compose"
	"github.com/flakeward/flakeward/e2e/report"
)

// run runs a drill from the first container to the last, and fills in its record. What is wrong is
// in the record's Failed.
func (s *suite) run(ctx context.Context, d Drill, record *report.Drill, log func(string, ...any)) {
	var failed []string
	fail := func(what string, err error) {
		if err != nil {
			failed = append(failed, what+": "+err.Error())
		}
	}
	defer func() { record.Failed = strings.Join(failed, "; ") }()

	r, err := s.newRun(d, log)
	if err != nil {
		fail("it cannot be set up", err)
		return
	}
	defer r.file.Close() // the log has the steps too
	s.members.r, s.members.ends = r, map[string]func(){}

	setup := time.Now()
	err = r.up(ctx)
	record.Began = evidence.Now()
	fail("the hosts do not serve", err)
	log("set up in %v", time.Since(setup).Round(time.Millisecond))
	played := false
	if err == nil {
		r.made, err = r.floor(ctx)
		fail("the cluster record cannot be read", err)
	}
	if err == nil {
		err = r.script(ctx, d)
		played = err == nil
		fail("the script", err)
	}
	record.Ended = evidence.Now()
	record.Faults = r.noted(record.Ended)

	// From here on nothing may be left out because the time is up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	teardown := time.Now()
	res := &Result{Drill: record, Run: r}
	fail("it cannot be ended in order", s.down(ctx, r, res))
	log("taken down in %v", time.Since(teardown).Round(time.Millisecond))
	if res.hosts == nil {
		return
	}
	_, release, err := s.gate.hold(ctx)
	if err != nil {
		fail("it was not judged", err)
		return
	}
	defer release()
	judging := time.Now()
	failed = append(failed, r.judged(d, res, played)...)
	log("judged in %v", time.Since(judging).Round(time.Millisecond))
}

// script runs the drill's script within its time. A panic of it is an error: everything has to be
// taken down all the same.
func (r *Run) script(ctx context.Context, d Drill) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.Limit, fmt.Errorf("the drill's time of %v is over", r.options.Limit))
	defer cancel()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.error
		default:
			err = fmt.Errorf("panic: %v", p)
			r.log("%v\n%s", err, debug.Stack())
		}
	}()
	d.Script(ctx, r)
	return nil
}

// down ends a drill: the clients in order, so that all is recorded, then the daemons. The
// coordinator is brought back and its history is read, the logs are kept, and nothing is left but
// files.
func (s *suite) down(ctx context.Context, r *Run, res *Result) error {
	var errs []error
	note := func(err error) { errs = append(errs, err) }
	engine := s.engine
	var clients, daemons []string
	for _, h := range r.Hosts {
		clients, daemons = append(clients, h.client), append(daemons, h.daemon)
	}
	note(s.clients(ctx, r, "has ended by itself: nothing was asked from then on", func(c compose.State) bool { return c.Running }))
	const flushTimeout = "30" // seconds
	_, err := engine.Docker(ctx, append([]string{"stop", "--time", flushTimeout}, clients...)...)
	note(err)
	note(s.clients(ctx, r, "did not end in order: what it had not written is missing", func(c compose.State) bool { return c.Status == 0 }))

	var both sync.WaitGroup
	var restored error
	both.Go(func() { restored = s.members.restore(ctx) })
	// The dead cannot be killed, and one that was recreated in vain is not there.
	_, _ = engine.Docker(ctx, append([]string{"kill"}, daemons...)...)
	for _, h := range r.Hosts {
		text, err := h.Log(ctx)
		note(err)
		note(os.WriteFile(filepath.Join(r.Dir, "logs", "daemon-"+h.Name[len("host-"):]+".log"), []byte(text), 0o644))
		text, err = engine.Logs(ctx, h.client)
		note(err)
		note(os.WriteFile(filepath.Join(r.Dir, "logs", "client-"+h.Name[len("host-"):]+".log"), []byte(text), 0o644))
	}
	for _, h := range r.Hosts {
		replies, err := h.watch.end()
		note(err)
		res.hosts = append(res.hosts, newHostResult(h.Name, replies))
	}
	both.Go(func() {
		if err := r.project.Remove(ctx); err != nil {
			r.log("not all was removed: %v", err)
		}
	})
	both.Wait()
	note(restored)
	if restored == nil {
		res.History, err = r.History(ctx)
		note(err)
		res.known = err == nil
	}
	res.Past = r.past
	note(keepHistory(filepath.Join(r.Dir, "history.jsonl"), res.Past, res.History))
	note(keepLines(filepath.Join(r.Dir, "faults.jsonl"), res.Drill.Faults))
	return errors.Join(errs...)
}

// clients says which clients are not as they should be. One that is gone fails no request, and
// stalls nobody.
func (s *suite) clients(ctx context.Context, r *Run, wrong string, well func(compose.State) bool) error {
	var errs []error
	for _, h := range r.Hosts {
		c, err := s.engine.State(ctx, h.client)
		if err == nil && !well(c) {
			err = fmt.Errorf("the client of %s %s (status %d)", h.Name, wrong, c.Status)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// keepLines writes a line of JSON for each.
func keepLines[T any](path string, all []T) error {
	var b bytes.Buffer
	for _, one := range all {
		line, err := json.Marshal(one)
		if err != nil {
			return err
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// keepHistory numbers the trees: 0 is the first, and one more follows each wipe.
func keepHistory(path string, past [][]history.Version, now []history.Version) error {
	type line struct {
		Tree int
		history.Version
	}
	var lines []line
	for tree, versions := range append(slices.Clone(past), now) {
		for _, v := range versions {
			lines = append(lines, line{tree, v})
		}
	}
	return keepLines(path, lines)
}

// judged judges the evidence and returns why the drill failed, other than by violations.
func (r *Run) judged(d Drill, res *Result, played bool) (failed []string) {
	record := res.Drill
	cluster := audit.Cluster{Layout: r.Layout, History: res.History, Floor: r.made, Past: res.Past, Unordered: r.options.Unordered, Lead: r.options.Lead, Wall: r.trueTime(0), Linear: true}
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
		if got := res.hosts[i].IDs(0, endless); played && got < r.options.Least {
			failed = append(failed, fmt.Sprintf("%s got %d IDs, and at least %d were to come: the drill shows nothing", h.Name, got, r.options.Least))
		}
	}
	if played && len(record.Faults) == 0 && !r.options.NoFault {
		failed = append(failed, "nothing was broken: the drill shows nothing")
	}
	record.LongestStall, record.Recovery = res.stall(), res.recovery()

	if !res.known { // without it each acknowledgement would look like a lie
		return append(failed, "it cannot be judged: the coordinator's history was not read")
	}
	var err error
	if res.Verdict, err = audit.Judge(cluster); err != nil {
		return append(failed, "it cannot be judged: "+err.Error())
	}
	record.IDs, record.Received = res.Verdict.Issued, res.Verdict.Received
	record.Violations, record.Examples = res.Verdict.Violations(), res.Verdict.Examples()
	if played && d.Judge != nil {
		if err := r.judgedBy(d, res); err != nil {
			failed = append(failed, err.Error())
		}
		failed = append(failed, res.failed...)
	}
	return failed
}

func (r *Run) judgedBy(d Drill, res *Result) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in Judge: %v", p)
			r.log("%v\n%s", err, debug.Stack())
		}
	}()
	d.Judge(res)
	return nil
}
