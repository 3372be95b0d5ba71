// Package ask asks a daemon for IDs over its Unix socket as services on its host do, at a steady
// rate and in every way there is, and records what became of each request. It goes on whatever
// happens to the daemon: it is what a service would have seen.
package ask

import (
	"context"
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
	Rates  Rates
}

const (
	timeout = 30 * time.Second // a request that has no reply after so long is lost, and its connection is given up
	grace   = 3 * time.Second  // how long replies are awaited at the end
)

// Rates is the time from one request to the next, and how much is asked for; a time of 0 leaves
// that way of asking out.
type Rates struct {
	Single    time.Duration
	Pipelined time.Duration
	Pipeline  int // requests for one ID that are sent at once
	Batch     time.Duration
	BatchIDs  int
	Runs      time.Duration
	RunIDs    int
}

// DefaultRates ask for 64,200 IDs a second, which takes a few percent of a processor.
func DefaultRates() Rates {
	return Rates{
		Single:    time.Millisecond,
		Pipelined: 5 * time.Millisecond, Pipeline: 16,
		Batch: 10 * time.Millisecond, BatchIDs: 100,
		Runs: 20 * time.Millisecond, RunIDs: 1000,
	}
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
		w.retry = retryOthersAfter
		if w.asking == evidence.Single {
			w.retry = retryAfter
		}
		w.retry = max(w.retry, w.every)
		ways = append(ways, w)
	}
	return ways
}

// Run asks until ctx ends, awaits the replies that are due for a moment, and returns nil. It
// returns an error if it cannot record.
func Run(ctx context.Context, c Config) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A name tells when it was begun: the logs of one directory sort by it.
	path := filepath.Join(c.Out, fmt.Sprintf("%020d.replies", evidence.Now()))
	record, err := startRecorder(path, cancel)
	if err != nil {
		return err
	}
	var connections atomic.Uint32
	var asking sync.WaitGroup
	for _, w := range c.ways() {
		a := &asker{way: w, config: c, connections: &connections, record: record.add}
		asking.Go(func() { a.run(ctx, rand.N(w.every)) })
	}
	asking.Wait()
	return record.close()
}
