// Package ask asks a daemon for IDs over its Unix socket as services on its host do, at a steady
// rate and in every way there is, and records what became of each request. It goes on whatever
// happens to the daemon: it is what a service would have seen.
package ask

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/internal/wire"
)

// Config is what is asked for, and how often. Each way of asking has a connection of its own.
type Config struct {
	Socket string
	Out    string // the directory of the logs; each Run adds one that ends with .replies
	Seed   uint64 // of when within its period each connection asks first
	Load   float64
	Rates  Rates

	Timeout time.Duration // a request that has no reply after so long is lost, and its connection is given up
	Grace   time.Duration // how long replies are awaited at the end
}

// Rates is the time from one request to the next, at a load of 1, and how much is asked for; a time
// of 0 leaves that way of asking out.
type Rates struct {
	Single    time.Duration
	Pipelined time.Duration
	Pipeline  int // requests for one ID that are sent at once
	Batch     time.Duration
	BatchIDs  int
	Runs      time.Duration
	RunIDs    int
}

// DefaultConfig asks for 64,200 IDs a second, which takes a few percent of a processor.
func DefaultConfig() Config {
	return Config{
		Load: 1,
		Rates: Rates{
			Single:    time.Millisecond,
			Pipelined: 5 * time.Millisecond, Pipeline: 16,
			Batch: 10 * time.Millisecond, BatchIDs: 100,
			Runs: 20 * time.Millisecond, RunIDs: 1000,
		},
		Timeout: 30 * time.Second,
		Grace:   3 * time.Second,
	}
}

// Validate says what cannot be done.
func (c Config) Validate() error {
	r := c.Rates
	switch {
	case c.Socket == "" || c.Out == "":
		return errors.New("the daemon's socket and a directory for the logs are needed: give --socket and --out")
	case !(c.Load > 0 && c.Load <= 100):
		return fmt.Errorf("a load of %v: it is above 0 and at most 100", c.Load)
	case min(r.Single, r.Pipelined, r.Batch, r.Runs) < 0 || max(r.Single, r.Pipelined, r.Batch, r.Runs) == 0:
		return errors.New("a time between requests is negative, or all are 0: nothing would be asked")
	case min(r.Pipeline, r.BatchIDs, r.RunIDs) < 1 || r.Pipeline > 1000:
		return errors.New("counts are at least 1, and a pipeline at most 1000")
	case c.Timeout <= 0 || c.Grace < 0:
		return errors.New("the timeout has to be above 0, and the grace at least 0")
	}
	return nil
}

// retryAfter is how soon a connection is made again, and a refused request asked again, at the
// least: recovery is measured this exactly.
const (
	retryAfter       = 10 * time.Millisecond
	retryOthersAfter = 20 * time.Millisecond
)

// way is a way of asking.
type way struct {
	asking   evidence.Asking
	every    time.Duration
	retry    time.Duration
	request  []byte // one request
	requests int    // sent at once
	ids      int    // in one reply
}

func (c Config) ways() []way {
	r := c.Rates
	next := wire.AppendCommand(nil, "NEXT")
	all := []way{
		{asking: evidence.Single, every: r.Single, request: next, requests: 1, ids: 1},
		{asking: evidence.Pipelined, every: r.Pipelined, request: next, requests: r.Pipeline, ids: 1},
		{asking: evidence.Batch, every: r.Batch, request: wire.AppendCommand(nil, "NEXT", strconv.Itoa(r.BatchIDs)), requests: 1, ids: r.BatchIDs},
		{asking: evidence.InRuns, every: r.Runs, request: wire.AppendCommand(nil, "RUN", strconv.Itoa(r.RunIDs)), requests: 1, ids: r.RunIDs},
	}
	ways := all[:0]
	for _, w := range all {
		if w.every == 0 {
			continue
		}
		w.every = max(time.Duration(float64(w.every)/c.Load), time.Microsecond)
		w.retry = retryOthersAfter
		if w.asking == evidence.Single {
			w.retry = retryAfter
		}
		w.retry = max(w.retry, w.every)
		ways = append(ways, w)
	}
	return ways
}

// Run asks until ctx ends, awaits the replies that are due for at most Grace, and returns nil. It
// returns an error if it cannot record.
func Run(ctx context.Context, c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A name tells when it was begun: the logs of one directory sort by it.
	path := filepath.Join(c.Out, fmt.Sprintf("%020d.replies", evidence.Now()))
	record, err := startRecorder(path, cancel)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(c.Seed, 1))
	var connections atomic.Uint32
	var asking sync.WaitGroup
	for _, w := range c.ways() {
		first := time.Duration(random.Int64N(int64(w.every)))
		a := &asker{way: w, config: c, connections: &connections, record: record.add}
		asking.Go(func() { a.run(ctx, first) })
	}
	asking.Wait()
	return record.close()
}
