package claims

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/internal/mutex"
	"github.com/flakeward/flakeward/generator"
)

// held implements coord.Claim.
type held struct {
	c       *Coordinator
	worker  int
	before  func(worker int) error // see coord.Request.Before
	epoch   string                 // the cluster record's at the opening
	opening string
	floor   generator.Tick         // a release never goes below it
	name    atomic.Pointer[string] // of the claim node; empty while it is not there

	mutex    mutex.Mutex // guards what follows; held during a request
	node     Node        // the last one, whether or not it is there
	identity string      // of the cluster record in which the record had the version
	version  int64
	record   record   // as it was stored last
	doubt    *attempt // sent, and its outcome is not known; nil: there is none
	lost     error    // why; nil: not as far as is known
}

// attempt is a write of the record. Nothing else is written while its outcome is not known.
type attempt struct {
	record  record
	release bool
}

func (a attempt) doing() string {
	if a.release {
		return doingRelease
	}
	return doingExtend
}

func (h *held) Worker() int           { return h.worker }
func (h *held) Name() string          { return *h.name.Load() }
func (h *held) Opening() string       { return h.opening }
func (h *held) Floor() generator.Tick { return h.floor }

// Why a claim is lost.
var (
	errOpened = fmt.Errorf("another has opened the record: %w", coord.ErrLost)
	errPassed = fmt.Errorf("the claim node was gone, and another claims the worker ID by now: %w", coord.ErrLost)
)

// What a write is for.
const (
	doingExtend  = "extend a grant"
	doingRelease = "release a worker ID"
	doingOpen    = "open a record"
)

// begin waits for the calls that came before.
func (h *held) begin(ctx context.Context, doing string) error {
	if err := h.mutex.LockContext(ctx); err != nil {
		return fmt.Errorf("%s: %s: an earlier call is not done: %w", h.c.store.Name(), doing, err)
	}
	return nil
}

// Extend implements coord.Claim.
func (h *held) Extend(ctx context.Context, progress coord.Progress) error {
	if err := h.begin(ctx, doingExtend); err != nil {
		return err
	}
	defer h.mutex.Unlock()
	if err := h.settle(ctx); err != nil {
		return err
	}
	if h.lost != nil {
		return h.lost
	}
	next := h.record
	next.Ceiling = max(next.Ceiling, progress.Ceiling)
	next.Issued = max(next.Issued, progress.Issued)
	next.Time = max(0, progress.Time)
	if err := h.write(ctx, attempt{record: next}); err != nil {
		return err
	}
	if h.Name() == "" {
		// What is stored is granted, whether or not there is a node.
		if err := h.claimAgain(ctx); h.lost != nil {
			return h.lost
		} else if err != nil {
			h.c.log.Info("a claim that is gone could not be made again; a later publish will", "worker", h.worker, "error", err)
		}
	}
	h.c.nodes.reap(ctx)
	return nil
}

// claimAgain makes another claim node for the worker ID, and names it in the record. If another's
// is there first, the claim is lost: the other opens the record, or has seen that it has to go on.
func (h *held) claimAgain(ctx context.Context) error {
	n, err := claimant{c: h.c, request: coord.Request{Before: h.before}}.createNode(ctx, h.worker)
	if errors.Is(err, errTaken) {
		return h.lose(ctx, fmt.Errorf("%w (%w)", errPassed, err))
	}
	if err != nil {
		return err
	}
	h.node = n.Node
	h.found(true)
	next := h.record
	next.Claim = n.Name
	return h.write(ctx, attempt{record: next})
}

// found notes whether the claim node was there.
func (h *held) found(there bool) {
	name := ""
	if there {
		name = h.node.Name
	} else {
		h.c.nodes.unuse(h.node.Token)
	}
	h.name.Store(&name)
}

// Release implements coord.Claim.
func (h *held) Release(ctx context.Context, last generator.Last) error {
	if err := h.begin(ctx, doingRelease); err != nil {
		return err
	}
	defer h.mutex.Unlock()
	for {
		err := h.release(ctx, last)
		if err == nil || h.lost != nil || ctx.Err() != nil || !worthRetrying(err) {
			return err
		}
		pause(ctx, h.c.clock, retryPause)
	}
}

// release makes one try. A release that is in doubt is made again as it was.
func (h *held) release(ctx context.Context, last generator.Last) error {
	again := h.doubt != nil && h.doubt.release
	if err := h.settle(ctx); err != nil || again {
		return err
	}
	if h.lost != nil {
		return h.lost
	}
	to := max(h.floor, h.record.Issued, last.Or(h.record.Ceiling))
	next := h.record
	next.Ceiling, next.Issued = to, to
	return h.write(ctx, attempt{record: next, release: true})
}

// settle finds out what became of a write in doubt, by sending the very same again: it is stored,
// or refused because it was stored before, or the claim is lost. A copy of it that is still under
// way compares the version which it has replaced, so it changes nothing any more.
func (h *held) settle(ctx context.Context) error {
	if h.lost != nil || h.doubt == nil {
		return h.lost
	}
	return h.send(ctx)
}

// write sends a write of the record. There is none in doubt.
func (h *held) write(ctx context.Context, w attempt) error {
	w.record.Nonce = h.c.random.token()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %s: not tried: %w", h.c.store.Name(), w.doing(), err)
	}
	h.doubt = &w // whatever happens from now on, it may be stored
	return h.send(ctx)
}

// send sends the write in doubt, fenced, and returns nil if it is stored. The error is h.lost, or
// it leaves the write in doubt.
func (h *held) send(ctx context.Context) error {
	w := *h.doubt
	sent := Write{Doing: w.doing(), Worker: h.worker, Claim: h.node.Name, Record: Entry{Value: encode(w.record)}, Delete: w.release}
	var done Written
	identity := ""
	err := h.c.cluster.inCluster(ctx, func(j *cluster) (err error) {
		identity = j.record.Identity
		if j.epoch != h.epoch {
			return coord.ErrRaised
		}
		if identity != h.identity {
			// Its version says nothing here: a tree that was emptied, and imported into, counts
			// anew.
			stored, err := h.c.store.Read(ctx, j.entry, RecordOf(h.worker))
			if err != nil {
				return err
			}
			h.version = stored.Version
			if !bytes.Equal(stored.Value, encode(h.record)) {
				done = Written{Record: stored, Claimed: h.Name() != ""}
				return nil
			}
			h.identity = identity
		}
		sent.Record.Version = h.version
		done, err = h.c.store.Write(ctx, j.entry, sent)
		return err
	})
	switch {
	case errors.Is(err, coord.ErrLost):
		return h.lose(ctx, err)
	case err != nil:
		return err
	}
	h.found(done.Claimed)
	switch {
	case done.Stored || bytes.Equal(done.Record.Value, sent.Record.Value):
		h.confirm(done.Record.Version)
		h.identity = identity
		return nil
	case done.Record.Version < h.version:
		// Nobody deletes a record, and no write takes one back.
		return h.c.cluster.wentBack(h.worker, h.version, done.Record.Version)
	}
	if _, err := readRecord(h.c.store, h.worker, done.Record); err != nil {
		h.c.log.Error("a record changed under its claim", "error", err)
	}
	return h.lose(ctx, errOpened)
}

// confirm makes the write in doubt the last one that is known to be stored.
func (h *held) confirm(version int64) {
	w := h.doubt
	h.record, h.version, h.doubt = w.record, version, nil
	if w.release {
		h.lost = coord.ErrLost
		h.c.nodes.unuse(h.node.Token)
	}
}

// lose gives the claim up for good, and returns why.
func (h *held) lose(ctx context.Context, why error) error {
	h.lost, h.doubt = why, nil
	if h.Name() != "" {
		h.c.nodes.discard(ctx, h.node)
		h.found(false)
	}
	return why
}
