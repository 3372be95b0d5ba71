package resp

import (
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/internal/form"
)

const (
	dialect      = "resp"
	nextCommand  = 0  // the number of NEXT
	otherCommand = -1 // stands for a command that there is not
)

// counts is what a Handler has done since it was published last. Nothing here is read by two
// goroutines, and a request that is served costs two additions. What is refused is counted at once.
//
// To time requests needs no reading of the clock but those that issuing makes anyway, and one for
// each round in which requests for IDs were answered: see Observe.
type counts struct {
	table    *tally.Table
	duration *tally.Histogram
	names    []string             // of the commands
	ok       []gathered           // by the command's number
	ids      [form.Count]gathered // by form
	command  int                  // that is being run
	refused  bool                 // it was

	begun   clockguard.Mono // when the clock was read first in this round; 0: it was not
	here    uint64          // requests that came in this round and are done
	waiters []waited        // those that came earlier and are done
}

// gathered is what is to be added to a counter.
type gathered struct {
	n  uint64
	to *atomic.Uint64 // nil: nothing was counted yet
}

// waited is n requests that have waited since begun.
type waited struct {
	begun clockguard.Mono
	n     uint64
}

func newCounts(table *tally.Table, names []string) counts {
	c := counts{table: table, duration: table.Durations(dialect), names: names, ok: make([]gathered, len(names))}
	c.ok[nextCommand].to = c.of(nextCommand, tally.OK) // a rate begins with a 0
	return c
}

// of is the counter of requests that came to a code.
func (c *counts) of(command int, code string) *atomic.Uint64 {
	name := tally.Other
	if command != otherCommand {
		name = c.names[command]
	}
	return c.table.Requests(tally.Request{Dialect: dialect, Command: name, Code: code})
}

// served counts requests that were served.
func (c *counts) served(command int, n uint64) { c.ok[command].n += n }

// refuse counts a request that is refused.
func (c *counts) refuse(code string) {
	c.refused = true
	c.of(c.command, code).Add(1)
}

// gone counts requests whose client has left.
func (c *counts) gone(command int, n uint64) { c.of(command, tally.Gone).Add(n) }

// issued counts IDs.
func (c *counts) issued(f form.Form, n uint64) { c.ids[f].n += n }

// took notes when the clock was read for a request.
func (c *counts) took(w *work) {
	at := w.issue.Sampled()
	if c.begun == 0 {
		c.begun = at
	}
	if w.begun == 0 {
		w.begun = at
	}
}

// answered counts n of the work's requests as served.
func (c *counts) answered(w *work, n uint64) {
	c.served(w.command, n)
	c.settled(w, n)
}

// settled notes that n of the work's requests are done.
func (c *counts) settled(w *work, n uint64) {
	switch {
	case w.begun == 0: // the source does not say
	case w.begun >= c.begun:
		c.here += n
	default:
		c.waiters = append(c.waiters, waited{w.begun, n})
	}
}

// Publish adds what h has done to the table. Its caller sends the replies after it, so that a
// client which has its reply finds it counted. It reports whether there is something for Observe.
func Publish(h *Handler) (timed bool) {
	c := &h.counts
	publish(c.ok, func(command int) *atomic.Uint64 { return c.of(command, tally.OK) })
	publish(c.ids[:], func(f int) *atomic.Uint64 { return c.table.IDs(form.Form(f).String()) })
	if c.here == 0 && len(c.waiters) == 0 {
		c.begun = 0
		return false
	}
	return true
}

func publish(all []gathered, counter func(int) *atomic.Uint64) {
	for i := range all {
		g := &all[i]
		if g.n == 0 {
			continue
		}
		if g.to == nil {
			g.to = counter(i)
		}
		g.to.Add(g.n)
		g.n = 0
	}
}

// Observe notes when the replies that h made since the last call were sent. A request that did
// not wait counts from when the clock was first read for one of them, so as if it had come then.
func Observe(h *Handler, sent clockguard.Mono) {
	c := &h.counts
	if c.here > 0 {
		c.duration.Observe(c.here, time.Duration(sent-c.begun))
	}
	for _, w := range c.waiters {
		c.duration.Observe(w.n, time.Duration(sent-w.begun))
	}
	c.begun, c.here, c.waiters = 0, 0, c.waiters[:0]
}
