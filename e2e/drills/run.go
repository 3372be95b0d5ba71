//go:build e2e

package drills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/e2e/compose"
	"github.com/flakeward/flakeward/e2e/report"
	"github.com/flakeward/flakeward/generator"
)

// Run is one drill being run on one coordinator. Its methods may be called from several goroutines.
type Run struct {
	Name        string // of the drill
	Coordinator string // etcd or zookeeper
	Dir         string // absolute; all evidence lies below it
	Hosts       []*Host
	Members     *Members
	Layout      *generator.Layout
	Long        bool  // the long form is run
	Seed        int64 // for whatever is left to chance; printed, and can be given

	options Options
	project *compose.Project
	gate    *gate
	log     func(format string, args ...any)
	begun   evidence.Mono
	made    generator.Tick // what the cluster was made with: nothing is issued at or below it

	mu     sync.Mutex
	steps  int
	file   *os.File // steps.txt
	faults []report.Fault
	past   [][]history.Version

	full     func()     // ends the fault of a full disk
	remaking sync.Mutex // held while a container is removed and recreated
}

// tree is where the drill's cluster is in the coordinator: etcd's prefix, ZooKeeper's chroot.
func (r *Run) tree() string { return "/" + r.Name }

// Step notes the next step of the drill.
func (r *Run) Step(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps++
	line := fmt.Sprintf("%2d. %7.3fs  %s", r.steps, time.Duration(evidence.Now()-r.begun).Seconds(), fmt.Sprintf(format, args...))
	if r.file != nil {
		fmt.Fprintln(r.file, line) // the log has it too
	}
	r.log("%s", line)
}

// Fault notes a fault on hosts, or on the whole cluster without any, from now until end is called.
// A fault that takes no time is ended at once. The methods of Host and Members that break something
// note it themselves. end may be called more than once.
func (r *Run) Fault(kind string, hosts ...*Host) (end func()) {
	names := []string{""}
	if len(hosts) > 0 {
		names = nil
		for _, h := range hosts {
			names = append(names, h.Name)
		}
	}
	return r.fault(kind, names...)
}

// open is the Until of a fault that has not ended.
const open evidence.Mono = -1

func (r *Run) fault(kind string, names ...string) (end func()) {
	now := evidence.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	first := len(r.faults)
	for _, name := range names {
		r.faults = append(r.faults, report.Fault{At: now, Until: open, Host: name, Kind: kind})
	}
	return func() {
		now := evidence.Now()
		r.mu.Lock()
		defer r.mu.Unlock()
		for i := first; i < first+len(names); i++ {
			if r.faults[i].Until == open {
				r.faults[i].Until = now
			}
		}
	}
}

// instant notes a fault that takes no time.
func (r *Run) instant(kind string, name string) {
	now := evidence.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, report.Fault{At: now, Until: now, Host: name, Kind: kind})
}

// noted returns the faults so far; what has not ended ends at the instant that is given.
func (r *Run) noted(end evidence.Mono) []report.Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	faults := slices.Clone(r.faults)
	for i, f := range faults {
		if f.Until == open {
			faults[i].Until = max(end, f.At)
		}
	}
	return faults
}

// trueTime is what this machine's clock shows at an instant: nanoseconds since 1970. No drill sets
// that clock.
func (r *Run) trueTime(at evidence.Mono) int64 {
	return time.Now().UnixNano() + int64(at-evidence.Now())
}

// Others are all hosts but h.
func (r *Run) Others(h *Host) []*Host {
	return slices.DeleteFunc(slices.Clone(r.Hosts), func(other *Host) bool { return other == h })
}

// Quiet calls f while nothing else that the drills do themselves disturbs this machine: neither
// suite starts, stops, breaks or judges anything meanwhile, other than what f does with the ctx
// that it is given. Keep it short: the other suite waits.
func (r *Run) Quiet(ctx context.Context, f func(ctx context.Context) error) error {
	ctx, release, err := r.gate.alone(ctx)
	if err != nil {
		return err
	}
	defer release()
	return f(ctx)
}

// History reads all versions of the cluster's records from the coordinator, now. The members must
// have a quorum.
func (r *Run) History(ctx context.Context) ([]history.Version, error) {
	return r.Members.backend.history(ctx, r.tree())
}

// floor is what nothing is issued at or below.
func (r *Run) floor(ctx context.Context) (generator.Tick, error) {
	b, err := r.Members.backend.record(ctx, r.tree())
	if err != nil {
		return 0, err
	}
	var record struct{ Floor generator.Tick }
	return record.Floor, json.Unmarshal(b, &record)
}

// Claims are the names of the claim nodes that there are now. The members must have a quorum.
func (r *Run) Claims(ctx context.Context) ([]string, error) {
	return r.Members.backend.claims(ctx, r.tree())
}

// Each calls do for all hosts at once and returns the errors joined.
func Each(hosts []*Host, do func(h *Host) error) error {
	errs := make([]error, len(hosts))
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() { errs[i] = do(h) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Last waits for d, or returns ctx's error. It is for faults that have to last; for everything else
// wait for events.
func (r *Run) Last(ctx context.Context, d time.Duration) error { return last(ctx, d) }

func last(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// until asks done again and again, every so often, until it says yes or fails.
func until(ctx context.Context, what string, every time.Duration, done func() (bool, error)) error {
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if err := last(ctx, every); err != nil {
			return fmt.Errorf("waited in vain for %s: %w", what, err)
		}
	}
}
