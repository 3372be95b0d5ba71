//go:build e2e

package drills

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/flakeward/flakeward/audit"
	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/e2e/compose"
	"github.com/flakeward/flakeward/generator"
)

// Run is one drill being run on one coordinator. Its methods may be called from several goroutines.
type Run struct {
	Name        string // of the drill
	Coordinator string // etcd, zookeeper or onDirectory
	Dir         string // absolute; all evidence lies below it
	Hosts       []*Host
	Members     *Members
	Layout      *generator.Layout
	Long        bool  // the long form is run
	Seed        int64 // for whatever is left to chance; printed, and can be given

	options Options
	project *compose.Project
	gate    *sync.RWMutex
	log     func(format string, args ...any)
	begun   evidence.Mono

	mu     sync.Mutex
	steps  int
	file   *os.File // steps.txt
	faults []Fault
	past   [][]history.Version
	raises []audit.Raise
	made   generator.Tick // what the cluster was made with, where that is not long ago
}

// Fault is one thing that was done to the cluster.
type Fault struct {
	Host string // of a daemon or a member of the coordinator; empty for all
	Kind string // a word or two: clock -1h, kill -9, cut off
}

// tree is where the drill's cluster is in the coordinator: etcd's prefix, ZooKeeper's chroot.
func (r *Run) tree() string { return "/" + r.Name }

// Step notes the next step of the drill.
func (r *Run) Step(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps++
	line := fmt.Sprintf("%2d. %7.3fs  %s", r.steps, time.Duration(evidence.Now()-r.begun).Seconds(), fmt.Sprintf(format, args...))
	fmt.Fprintln(r.file, line) // the log has it too
	r.log("%s", line)
}

// Fault notes a fault of a host, or of the whole cluster. What breaks something notes it itself.
func (r *Run) Fault(host, kind string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, Fault{host, kind})
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

// Quiet calls do while nothing else that the drills do themselves disturbs this machine: no suite
// starts, stops, breaks or judges anything meanwhile. Keep it short: the others wait.
func (r *Run) Quiet(do func()) {
	r.gate.Lock()
	defer r.gate.Unlock()
	do()
}

// History reads all versions of the cluster's records from the coordinator, now. The members must
// have a quorum.
func (r *Run) History(ctx context.Context) []history.Version {
	if r.Coordinator == onDirectory {
		return mustGet(history.Directory(filepath.Join(r.Dir, "records", "all")))
	}
	return mustGet(r.Members.history(ctx, r.Members, r.tree()))
}
