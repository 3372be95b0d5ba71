//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/flakeward/flakeward/internal/fault"
)

// Drill is one script, run on each coordinator.
type Drill struct {
	Name    string // as in kill-an-hour-behind: a folder, a tree in the coordinator and a test have it
	On      string // empty: on etcd and ZooKeeper; onAll: on a directory as well; onDirectory: there alone
	Options Options
	// Script does the faults and waits for what has to come of them. It begins when all daemons
	// serve. What must not fail in it fails the drill. The judge looks at all that was recorded,
	// after everything was stopped.
	Script func(ctx context.Context, r *Run) (judge func(res *Result))
}

// What Drill.On may be.
const (
	onAll       = "all"
	onDirectory = "dir" // the name of the directory's suite as well
)

// Options are what one drill needs otherwise than the rest. Zero values mean the default.
type Options struct {
	Limit    time.Duration // of the script; default 2m
	Hosts    int           // daemons, each with a client; default 3
	Ready    int           // how many of them must serve before the script begins; default all
	Layout   string        // default flakeward
	Window   time.Duration // default 20s
	MaxBlock time.Duration // default 2s
	Flags    string        // further flags of the daemons
	Env      map[string]string
	Client   string // further flags of the recording clients

	Small     bool // the coordinator's directory is on a small file system, which the drill fills
	Shared    bool // all hosts have the socket directory of the first
	NoFault   bool // the script breaks nothing
	Least     int  // IDs that each host's clients must have got; default 100, -1 none
	Unordered bool // the order of IDs is not judged
	// Lead is how far an ID may be ahead of the true time; -1: as far as it likes. By default that
	// is how far drills set the clocks of their hosts apart, and what is believed of a running
	// daemon's clock.
	Lead time.Duration
}

const (
	// apart is how far the clocks of a drill's hosts may lie apart.
	apart = 10 * time.Second
	// ttl and publish are those of all daemons.
	ttl     = 2 * time.Second
	publish = 500 * time.Millisecond

	twoWorkers  = "time=41@1ms,worker=1,sequence=21;epoch=2026-01-01"
	fourWorkers = "time=41@1ms,worker=2,sequence=20;epoch=2026-01-01"
)

// drills are all of them, in the order in which they are run. docs/drills.md says what each is for.
var drills = []Drill{
	{Name: "calm", On: onAll, Script: calm, Options: Options{NoFault: true}},

	{Name: "clock-back-3ms", Script: setback{by: 3 * time.Millisecond, answer: "sleep", times: 5, watch: time.Second, aim: 10 * time.Millisecond, limit: 100 * time.Millisecond}.script},
	{Name: "clock-back-150ms", Script: setback{by: 150 * time.Millisecond, answer: "ring", times: 5, watch: 400 * time.Millisecond, aim: 5 * time.Millisecond, limit: 75 * time.Millisecond}.script},
	{Name: "clock-back-1.5s", Script: setback{by: 1500 * time.Millisecond, answer: "ring", times: 3, watch: 1600 * time.Millisecond, aim: 5 * time.Millisecond, limit: 500 * time.Millisecond}.script},
	{Name: "clock-back-30s", Script: setback{by: 30 * time.Second, answer: "release", times: 1, watch: settled, aim: time.Second, limit: time.Second}.script},
	{Name: "clock-back-1h", Script: setback{by: time.Hour, answer: "release", times: 1, watch: settled, aim: time.Second, limit: time.Second}.script},
	{Name: "clock-back-all", Script: backAll},
	{Name: "clock-oscillation", Script: oscillation},

	{Name: "clock-ahead", Script: ahead, Options: Options{Lead: believed}},
	{Name: "clock-ahead-idle", Script: aheadIdle, Options: Options{Lead: believed}},
	{Name: "clock-ahead-all", Script: aheadAll, Options: Options{Lead: believed}},
	// It serves by the time of the others, which is as old as their last publish.
	{Name: "clock-ahead-start", Script: aheadStart, Options: Options{Lead: believed, Unordered: true}},

	{Name: "kill-behind-5s", On: onAll, Script: killsBehind(1, 5*time.Second, time.Second), Options: Options{Window: time.Minute}},
	// A long run takes many ticks before its reply is sent: a kill meets IDs that are issued and
	// get lost.
	{Name: "kill-behind-1h", On: onAll, Script: killsBehind(3, time.Hour), Options: Options{Window: time.Minute, Client: "--run-ids=60000 --runs=40ms"}},
	{Name: "rolling-restart", On: onAll, Script: rollingRestart},
	{Name: "stop-start-all", Script: stopStartAll},
	// As many worker IDs as daemons, so that it has to be the same again.
	{Name: "disk-lost", Script: diskLost, Options: Options{Hosts: 2, Layout: twoWorkers, Window: lostWindow, MaxBlock: time.Second}},

	{Name: "two-daemons", Script: twoDaemons, Options: Options{Hosts: 2, Shared: true, Ready: 1}},
	{Name: "more-daemons", On: onAll, Script: moreDaemons, Options: Options{Layout: twoWorkers, Ready: 2, MaxBlock: time.Second}},
	{Name: "passed-on", Script: passedOn, Options: Options{
		Layout:   fourWorkers, // three are held, so that the one that is left is known
		MaxBlock: 2 * passedBehind,
		// The one whose clock is behind takes this one, and waits for what was issued from it.
		Env:    map[string]string{fault.HoldTakes: "300/1s", "FLAKEWARD_RESTART_WAIT": (2 * passedBehind).String()},
		Client: "--single=1ms --pipelined=0 --batch=0 --runs=0", // a tick for each request
	}},
	{Name: "zombie", Script: zombie, Options: Options{
		Layout: twoWorkers, Ready: 2, Window: zombieWindow, MaxBlock: 500 * time.Millisecond,
		Flags: "--trust-clock", // the successor's is ahead by the window
	}},

	{Name: "paused", On: onDirectory, Script: paused, Options: Options{Layout: twoWorkers, Ready: 2, MaxBlock: 500 * time.Millisecond, Least: -1}},
	{Name: "directory-full", On: onDirectory, Script: directoryFull, Options: Options{Small: true, MaxBlock: 500 * time.Millisecond, Window: 5 * time.Second}},
	{Name: "directory-copied", On: onDirectory, Script: directoryCopied},

	{Name: "cut-off", Script: cutOff, Options: Options{Window: cutWindow, MaxBlock: 500 * time.Millisecond}},
	{Name: "cut-one-way", Script: cutOneWay, Options: Options{Window: time.Minute}},
	{Name: "leader-killed", Script: killLeaders, Options: Options{Window: time.Minute}},
	{Name: "quorum-lost", Script: loseQuorum, Options: Options{Window: 2 * time.Minute, Limit: 5 * time.Minute}},
	{Name: "coordinator-restarted", Script: restartCoordinator, Options: Options{Window: time.Minute}},
	{Name: "coordinator-restored", Script: restored, Options: Options{MaxBlock: 500 * time.Millisecond}},
	{Name: "coordinator-wiped", Script: wipe, Options: Options{Window: wipedWindow, MaxBlock: 500 * time.Millisecond, Lead: -1}},
	{Name: "storm", Script: storm, Options: Options{
		Limit:  20 * time.Minute,
		Layout: fourWorkers,                                     // few, so that whoever loses one meets the others' claims
		Env:    map[string]string{fault.HoldTakes: "1000/30ms"}, // now and then a number takes long to be taken
	}},
}

// failure is the panic by which must ends a script.
type failure struct{ error }

// must ends the script, and fails the drill, if there is an error. In another goroutine than the
// script's it is for what caught calls.
func must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// fail ends the script, and says why.
func fail(format string, args ...any) { must(fmt.Errorf(format, args...)) }

// mustGet is must for what has a value as well, which it returns.
func mustGet[T any](value T, err error) T {
	must(err)
	return value
}

// caught calls do, and returns the error by which it ended. Any other panic is one too: everything
// has to be taken down all the same.
func caught(do func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.error
		default:
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	do()
	return nil
}

// each calls do for all at once, and fails if it failed for one of them.
func each[T any](all []T, do func(one T)) {
	errs := make([]error, len(all))
	var calls sync.WaitGroup
	for i, one := range all {
		calls.Go(func() { errs[i] = caught(func() { do(one) }) })
	}
	calls.Wait()
	must(errors.Join(errs...))
}

// last waits for d. It is for faults that have to last; for everything else wait for events.
func last(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeoutCause(ctx, d, errOver)
	defer cancel()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, errOver) {
		must(err)
	}
}

var errOver = errors.New("it has lasted")

// lookEvery lies between two looks at something that has no event to wait for.
const lookEvery = 100 * time.Millisecond

// until looks until is no longer fails. The error says what was waited for, and what was in the way
// at the last look.
func until(ctx context.Context, is func(), what string, args ...any) {
	for {
		err := caught(is)
		if err == nil {
			return
		}
		if over := caught(func() { last(ctx, lookEvery) }); over != nil {
			fail("waited in vain for %s: %w: %w", fmt.Sprintf(what, args...), err, over)
		}
	}
}
