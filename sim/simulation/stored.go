package simulation

import (
	"encoding/json"

	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/generator"
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
