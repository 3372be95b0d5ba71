// Package tally counts what requests come to, whatever dialect they are of. Those who serve
// requests add to it from their own goroutines; INFO and the metrics read it.
package tally

import (
	"sync"
	"sync/atomic"
)

// Request is what one request came to.
type Request struct {
	Dialect string // resp
	Command string // as the dialect calls it; Other where it has no such command
	Code    string // OK, Gone, or why it was refused
}

// What Request.Command and Request.Code are besides names of commands and codes of refusals.
const (
	Other = "other" // a command that there is not
	OK    = "ok"    // it was served
	Gone  = "gone"  // its client left before it was served
	// Declined: a client tried at its start whether the server has a feature, which it does
	// without. The reply is an error, as Redis' is. It is no refusal.
	Declined = "declined"
)

// Integer is the form of an ID that is a number.
const Integer = "integer"

// Table has all counters. Its methods may be called from any goroutine. The zero value is ready for
// use.
type Table struct {
	mu       sync.Mutex
	requests map[Request]*atomic.Uint64
	ids      map[string]*atomic.Uint64
	took     map[string]*Histogram

	// Burnt counts IDs that were taken for requests which were given up, and went to nobody.
	Burnt atomic.Uint64
	// Rounded counts sessions whose clients round the integers that they get.
	Rounded atomic.Uint64
}

// Requests returns the counter of requests that came to r.
func (t *Table) Requests(r Request) *atomic.Uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return valueOf(&t.requests, r)
}

// IDs returns the counter of IDs that were written in a form, by its name.
func (t *Table) IDs(form string) *atomic.Uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return valueOf(&t.ids, form)
}

// Durations returns how long requests for IDs took in a dialect.
func (t *Table) Durations(dialect string) *Histogram {
	t.mu.Lock()
	defer t.mu.Unlock()
	return valueOf(&t.took, dialect)
}

// valueOf returns what a map has for a key, made if it is missing.
func valueOf[K comparable, V any](all *map[K]*V, key K) *V {
	if *all == nil {
		*all = make(map[K]*V)
	}
	v := (*all)[key]
	if v == nil {
		v = new(V)
		(*all)[key] = v
	}
	return v
}

// Snapshot is what a Table has counted.
type Snapshot struct {
	Requests  map[Request]uint64
	IDs       map[string]uint64
	Durations map[string]Durations // by dialect
}

// Snapshot reads all counters.
func (t *Table) Snapshot() Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Snapshot{read(t.requests, (*atomic.Uint64).Load), read(t.ids, (*atomic.Uint64).Load), read(t.took, (*Histogram).Read)}
}

func read[K comparable, C, V any](all map[K]*C, value func(*C) V) map[K]V {
	values := make(map[K]V, len(all))
	for key, c := range all {
		values[key] = value(c)
	}
	return values
}

// Totals returns how many requests were answered, how many of them were refused, and how many IDs
// were issued.
func (s Snapshot) Totals() (requests, refused, ids uint64) {
	for of, n := range s.Requests {
		if of.Code == Gone {
			continue
		}
		requests += n
		if of.Code != OK && of.Code != Declined {
			refused += n
		}
	}
	for _, n := range s.IDs {
		ids += n
	}
	return requests, refused, ids
}
