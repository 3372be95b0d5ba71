package resp

import (
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
// goroutines, and a request that is served costs two additions.
//
// To time requests needs no reading of the clock but those that issuing makes anyway, and one for
// each round in which requests for IDs were answered: see Observe.
type counts struct {
	table    *tally.Table
	duration *tally.Histogram
	names    []string // of the commands
	batch    tally.Batch
	ok       []*tally.Pending           // by the command's number
	ids      [form.Count]*tally.Pending // by form
	unserved map[outcome]*tally.Pending
	burnt    uint64
	command  int  // that is being run
	refused  bool // it was

	begun   clockguard.Mono // when the clock was read first in this round; 0: it was not
	here    uint64          // requests that came in this round and are done
	waiters []waited        // those that came earlier and are done
}

// outcome is of a request that was not served.
type outcome struct {
	command int
	code    string
}

// waited is n requests that have waited since begun.
type waited struct {
	begun clockguard.Mono
	n     uint64
}

func newCounts(table *tally.Table, names []string) counts {
	c := counts{table: table, duration: table.Durations(dialect), names: names, ok: make([]*tally.Pending, len(names)), unserved: make(map[outcome]*tally.Pending)}
	c.served(nextCommand, 0) // a rate begins with a 0
	return c
}

// pending gathers for requests that came to a code.
func (c *counts) pending(command int, code string) *tally.Pending {
	name := tally.Other
	if command != otherCommand {
		name = c.names[command]
	}
	return tally.For(c.table.Requests(tally.Request{Dialect: dialect, Command: name, Code: code}))
}

// served counts requests that were served.
func (c *counts) served(command int, n uint64) {
	if c.ok[command] == nil {
		c.meet(command)
	}
	c.batch.Add(c.ok[command], n)
}

// meet makes what gathers for a command.
func (c *counts) meet(command int) { c.ok[command] = c.pending(command, tally.OK) }

// refuse counts a request that is refused.
func (c *counts) refuse(code string) {
	c.refused = true
	c.unservedBy(c.command, code, 1)
}

// gone counts requests whose client has left.
func (c *counts) gone(command int, n uint64) { c.unservedBy(command, tally.Gone, n) }

func (c *counts) unservedBy(command int, code string, n uint64) {
	key := outcome{command, code}
	if c.unserved[key] == nil {
		c.unserved[key] = c.pending(command, code)
	}
	c.batch.Add(c.unserved[key], n)
}

// issued counts IDs.
func (c *counts) issued(f form.Form, n uint64) {
	if c.ids[f] == nil {
		c.meetIDs(f)
	}
	c.batch.Add(c.ids[f], n)
}

// meetIDs makes what gathers for a form.
func (c *counts) meetIDs(f form.Form) { c.ids[f] = tally.For(c.table.IDs(f.String())) }

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

// Publish adds what h has done to the table. Its caller sends the replies after it, so that a client
// which has its reply finds it counted. It reports whether there is something for Observe.
func Publish(h *Handler) (timed bool) {
	c := &h.counts
	c.batch.Publish()
	if c.burnt > 0 {
		c.table.Burnt.Add(c.burnt)
		c.burnt = 0
	}
	if c.here == 0 && len(c.waiters) == 0 {
		c.begun = 0
		return false
	}
	return true
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
