//go:build e2e

package drills

import (
	"context"
	"fmt"
	"time"
)

// Drill is one script, run on each coordinator.
type Drill struct {
	Name    string // as in kill-an-hour-behind: a folder, a tree in the coordinator and a test have it
	What    string // one sentence: what is done and what is expected
	Options Options
	On      string // empty: on etcd and ZooKeeper; onAll: on a directory as well; onDirectory: there alone
	// Script does the faults and waits for what has to come of them. It begins when all daemons
	// serve. What must not fail in it, by must and mustGet, fails the drill.
	Script func(ctx context.Context, r *Run)
	// Judge looks at all that was recorded, after everything was stopped. It may be nil.
	Judge func(res *Result)
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
	Ready    int           // how many of them must serve before the script begins; default all, -1 none
	Layout   string        // default flakeward
	TTL      time.Duration // default 2s
	Window   time.Duration // default 20s
	Publish  time.Duration // default 500ms
	MaxBlock time.Duration // default 2s
	Daemon   []string      // further flags of the daemons, as in --max-sleep=10ms
	Env      map[string]string
	Client   []string // further flags of the recording clients

	Small     bool // the coordinator's directory is on a file system of SmallBytes, which FillDirectory fills
	Shared    bool // all hosts have the socket directory of the first
	NoFault   bool // the script breaks nothing
	Least     int  // IDs that each host's clients must have got; default 100, -1 none
	Unordered bool // the order of IDs is not judged
	// Lead is how far an ID may be ahead of the true time; -1: as far as it likes. By default that is
	// how far drills set the clocks of their hosts apart, and what is believed of a running daemon's
	// clock.
	Lead time.Duration
}

// apart is how far the clocks of a drill's hosts may lie apart.
const apart = 10 * time.Second

// SmallBytes is the size of a small file system.
const SmallBytes = 256 << 10

var registered []Drill

// register adds drills to those that TestDrills runs. It is called from init functions, so drills
// run in the order of their files' names.
func register(drills ...Drill) { registered = append(registered, drills...) }

// failure is the panic by which must ends a script.
type failure struct{ error }

// must ends the script, and fails the drill, if there is an error. It is for the script's own
// goroutine, as a test's Fatal is.
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
