package simulation

import (
	"context"
	"encoding/json"

	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/tree"
)

// stored is what a record says. It shares no code with what writes the records.
type stored struct {
	Ceiling generator.Tick `json:"ceiling"`
	Issued  generator.Tick `json:"issued"`
	Holder  string         `json:"holder"`
	Claim   string         `json:"claim"`
}

// version is the record as the audit has it.
func (r stored) version(order int64, worker int) history.Version {
	return history.Version{Order: order, Worker: worker, Ceiling: r.Ceiling, Issued: r.Issued, Holder: r.Holder, Claim: r.Claim}
}

func recordOf(value []byte) (r stored) {
	_ = json.Unmarshal(value, &r)
	return r
}

func clusterOf(layout []byte) string {
	var l struct {
		UUID string `json:"uuid"`
	}
	_ = json.Unmarshal(layout, &l)
	return l.UUID
}

// floorOf is a cluster's floor.
func floorOf(layout []byte) generator.Tick {
	var l struct{ Floor generator.Tick }
	_ = json.Unmarshal(layout, &l)
	return l.Floor
}

// memo reads each value once. Nobody changes a value that is stored, so where one begins tells it
// apart.
type memo[T any] struct {
	read  func([]byte) T
	known map[*byte]T
}

func memoOf[T any](read func([]byte) T) memo[T] { return memo[T]{read, map[*byte]T{}} }

func (m memo[T]) of(value []byte) T {
	if len(value) == 0 {
		return m.read(value)
	}
	known, ok := m.known[&value[0]]
	if !ok {
		known = m.read(value)
		m.known[&value[0]] = known
	}
	return known
}

// watched is a store that remembers what was acknowledged to the daemon.
type watched struct {
	*tree.Store
	p *proc
}

func (s watched) Write(ctx context.Context, layout claims.Entry, write claims.Write) (claims.Written, error) {
	done, err := s.Store.Write(ctx, layout, write)
	if err != nil {
		return done, err
	}
	sim := s.p.sim
	mine := sim.record.of(write.Record.Value)
	found := mine
	if !done.Stored {
		found = sim.record.of(done.Record.Value)
	}
	if found.Holder == mine.Holder {
		s.p.acked[write.Worker] = max(s.p.acked[write.Worker], found.Ceiling)
	}
	return done, err
}
