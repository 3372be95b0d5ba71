// Package load asks daemons for IDs as sidecars would: a Client as fast as it gets
// them, in a mix of requests, and a Stream at a steady rate.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"

	"github.com/flakeward/flakeward/internal/wire"
)

const (
	maxPipeline = 64 // requests for one ID that are sent at once
	reportEvery = 10_000

	// BatchIDs and RunIDs are how many IDs a Client asks for in one NEXT with a count, and in one
	// RUN.
	BatchIDs = 1000
	RunIDs   = 5000
)

// Counts is what a connection got, by the kind of request.
type Counts struct {
	Singles, Batches, Runs uint64 // IDs of requests whose whole reply was read
	Refused                uint64 // requests answered with UNAVAILABLE
}

// IDs is how many there were.
func (c Counts) IDs() uint64 { return c.Singles + c.Batches + c.Runs }

// Add adds up.
func (c *Counts) Add(o Counts) {
	c.Singles += o.Singles
	c.Batches += o.Batches
	c.Runs += o.Runs
	c.Refused += o.Refused
}

// Ending is how a connection ended.
type Ending struct {
	Counts
	Unanswered int    // requests that were sent and got no whole reply
	Torn       bool   // it ended in the middle of a reply
	Unreached  bool   // nobody listened on the socket
	Wrong      string // what a daemon must never do, such as to refuse a correct request; empty if nothing
}

// Client pulls IDs over one connection at a time. Only Hold may be called while Pull runs.
type Client struct {
	Random *rand.Rand
	Keep   func([]int64)    // takes the IDs of each reply that was read whole; they are only valid during the call
	Got    func(ids uint64) // called at the first IDs and then now and then, with how many there are by now
	Held   func()           // called after Hold when the last requests are sent, before their replies are read

	held   atomic.Bool // no more requests after the next pipeline
	reader *wire.Reader
	kinds  []kind // of the requests in the pipeline
	ending Ending
	told   uint64 // what Got was told last

	ids   []int64     // scratch
	pairs []wire.Pair // scratch
	out   []byte      // scratch
}

type kind uint8

const (
	single kind = iota
	batch
	run
)

// Hold has Pull send one more pipeline, of large requests, and then only read to the end.
func (p *Client) Hold() { p.held.Store(true) }

// Pull pulls until the daemon ends the connection. The error is one of this side.
func (p *Client) Pull(ctx context.Context, socket string) (Ending, error) {
	p.ending, p.told = Ending{}, 0
	p.held.Store(false)
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if unreached(err) {
		p.ending.Unreached = true
		return p.ending, nil
	}
	if err != nil {
		return p.ending, fmt.Errorf("no connection to the daemon: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing is written that could be lost
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	p.reader = wire.NewReader(conn)
	for last := false; !last; {
		last = p.held.Load()
		p.prepare(last)
		// Where this fails some of it may have gone out, and been answered before the end: the
		// reads find out.
		_, _ = conn.Write(p.out)
		if last {
			p.Held()
		}
		if !p.collect() {
			return p.ending, nil
		}
	}
	if _, err := p.reader.Int(); !ended(err) {
		p.wrong("a reply that nobody asked for, or %v", err)
	}
	return p.ending, nil
}

// prepare makes the next pipeline.
func (p *Client) prepare(large bool) {
	p.out, p.kinds = p.out[:0], p.kinds[:0]
	n, k := 1+p.Random.IntN(maxPipeline), single
	switch p.Random.IntN(4) {
	case 0:
		n, k = 1+p.Random.IntN(4), batch
	case 1:
		n, k = 1+p.Random.IntN(2), run
	}
	if large {
		n, k = 8, batch
	}
	for range n {
		p.kinds = append(p.kinds, k)
		switch k {
		case single:
			p.out = wire.AppendCommand(p.out, "NEXT")
		case batch:
			p.out = wire.AppendCommand(p.out, "NEXT", fmt.Sprint(BatchIDs))
		case run:
			p.out = wire.AppendCommand(p.out, "RUN", fmt.Sprint(RunIDs))
		}
	}
}

// collect reads the replies to the pipeline and keeps their IDs. It reports whether the connection
// goes on.
func (p *Client) collect() (more bool) {
	for i, k := range p.kinds {
		var refused wire.Refused
		err := p.read(k)
		switch {
		case errors.As(err, &refused):
			p.ending.Refused++
			if !strings.HasPrefix(string(refused), "UNAVAILABLE ") {
				p.wrong("%v", err)
			}
			continue
		case err != nil:
			p.ending.Unanswered = len(p.kinds) - i
			p.ending.Torn = errors.Is(err, io.ErrUnexpectedEOF)
			if !ended(err) {
				p.wrong("%v", err)
			}
			return false
		}
		p.Keep(p.ids)
		if ids := p.ending.IDs(); p.told == 0 || ids-p.told >= reportEvery {
			p.told = ids
			p.Got(ids)
		}
	}
	return true
}

// read reads the reply to one request into p.ids and counts it.
func (p *Client) read(k kind) (err error) {
	want := uint64(1)
	p.ids = p.ids[:0]
	switch k {
	case single:
		var id int64
		id, err = p.reader.Int()
		p.ids = append(p.ids, id)
	case batch:
		want = BatchIDs
		p.ids, err = p.reader.Ints(p.ids)
	case run:
		want = RunIDs
		var step int64
		p.pairs, step, err = p.reader.Runs(p.pairs[:0], RunIDs)
		for _, pair := range p.pairs {
			for i := range pair.N {
				p.ids = append(p.ids, pair.First+i*step)
			}
		}
	}
	if err != nil {
		return err
	}
	if got := uint64(len(p.ids)); got != want {
		p.wrong("%d IDs where %d were asked for", got, want)
	}
	n := uint64(len(p.ids))
	switch k {
	case single:
		p.ending.Singles += n
	case batch:
		p.ending.Batches += n
	case run:
		p.ending.Runs += n
	}
	return nil
}

func (p *Client) wrong(format string, args ...any) {
	if p.ending.Wrong == "" {
		p.ending.Wrong = fmt.Sprintf(format, args...)
	}
}
