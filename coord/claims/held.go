package claims

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/internal/mutex"
	"github.com/flakeward/flakeward/generator"
)

// held implements coord.Claim.
type held struct {
	c         *Coordinator
	node      Node
	epoch     string // the cluster record's at the opening
	opening   string
	continues bool
	floor     generator.Tick
	minimum   generator.Tick // a release never goes below it

	mutex   mutex.Mutex // guards what follows; held during a request
	version int64
	record  record // as the writer saw it last
	inDoubt []attempt
	lost    error // why; nil: not as far as is known
}

// attempt is a write, which is in doubt until its outcome is known. All in doubt of one
// claim compare the same version, so at most one of them was.
type attempt struct {
	record  record
	release bool
}

// maxInDoubt bounds what a claim remembers of a long outage. If one that was
// forgotten turns out to be the one that was stored, the claim is given up.
const maxInDoubt = 64

func (h *held) Worker() int           { return h.node.Worker }
func (h *held) Name() string          { return h.node.Name }
func (h *held) Opening() string       { return h.opening }
func (h *held) Continues() bool       { return h.continues }
func (h *held) Floor() generator.Tick { return h.floor }

// Why a claim is lost.
var (
	errOpened   = fmt.Errorf("another has opened the record: %w", coord.ErrLost)
	errVanished = fmt.Errorf("the claim node is gone: its session has ended, or somebody has deleted it: "+
		"an operator with flakeward claims clear, or a daemon that takes itself for this one, on a copy of its state directory: %w", coord.ErrLost)
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
	for h.lost == nil {
		next := h.record
		next.Ceiling = max(next.Ceiling, progress.Ceiling)
		next.Issued = max(next.Issued, progress.Issued)
		next.Mark = max(next.Mark, progress.Mark)
		next.Nonce = h.c.random.token()
		stored, err := h.write(ctx, attempt{record: next})
		if err != nil {
			return err
		}
		if stored {
			h.c.nodes.reap(ctx)
			return nil
		}
	}
	return h.lost
}

// Release implements coord.Claim.
func (h *held) Release(ctx context.Context, last generator.Tick) error {
	if err := h.begin(ctx, doingRelease); err != nil {
		return err
	}
	defer h.mutex.Unlock()
	for h.lost == nil {
		to := max(h.minimum, h.record.Issued, last)
		next := h.record
		next.Ceiling, next.Issued, next.Mark = to, to, to
		next.Nonce = h.c.random.token()
		stored, err := h.write(ctx, attempt{record: next, release: true})
		switch {
		case stored:
			return nil
		case err == nil:
		case ctx.Err() != nil || !worthRetrying(err):
			return err
		default:
			pause(ctx, h.c.clock, retryPause)
		}
	}
	return h.lost
}

// write sends one write of the record, fenced. It reports whether w is stored.
// If it is not, either the claim is lost, or an earlier write in doubt was found
// to be stored and the caller is to decide anew. After an error w is in doubt.
func (h *held) write(ctx context.Context, w attempt) (stored bool, err error) {
	sent := Write{Doing: doingExtend, Node: h.node, Record: Entry{Value: encode(w.record), Version: h.version}, Delete: w.release}
	if w.release {
		sent.Doing = doingRelease
	}
	var done Written
	err = h.c.cluster.inCluster(ctx, func(j *cluster) (err error) {
		if j.epoch != h.epoch {
			return coord.ErrRaised
		}
		h.doubt(w)
		done, err = h.c.store.Write(ctx, j.entry, sent)
		return err
	})
	switch {
	case errors.Is(err, coord.ErrRaised):
		h.lose(err, true)
		return false, nil
	case err != nil:
		return false, err
	case done.Stored:
		h.confirm(w, done.Record.Version)
		return true, nil
	}
	landed, ok := h.ownWrite(done.Record)
	if !ok && done.Record.Version < h.version {
		// Nobody deletes a record, and no write takes one back.
		return false, h.c.cluster.wentBack(h.Worker(), h.version, done.Record.Version)
	}
	if !ok {
		why := errOpened
		if !done.Claimed {
			why = errVanished
		}
		h.lose(why, done.Claimed)
		return false, nil
	}
	h.confirm(landed, done.Record.Version)
	return landed.record.Nonce == w.record.Nonce || landed.release && w.release, nil
}

// doubt notes w before it is sent: whatever happens then, it may have been stored.
func (h *held) doubt(w attempt) {
	if n := len(h.inDoubt); n > 0 && h.inDoubt[n-1].record.Nonce == w.record.Nonce {
		return // sent again
	}
	if len(h.inDoubt) == maxInDoubt {
		h.inDoubt = append(h.inDoubt[:0], h.inDoubt[1:]...)
	}
	h.inDoubt = append(h.inDoubt, w)
}

// ownWrite returns the write in doubt that the record shows as stored.
func (h *held) ownWrite(found Entry) (attempt, bool) {
	if found.Version == 0 {
		return attempt{}, false
	}
	if _, err := readRecord(h.c.store, h.Worker(), found); err != nil {
		h.c.log.Error("a record changed under its claim", "error", err)
		return attempt{}, false
	}
	for _, d := range h.inDoubt {
		if bytes.Equal(encode(d.record), found.Value) {
			return d, true
		}
	}
	return attempt{}, false
}

// confirm makes w the last write that is known to be stored. No other one in doubt
// can be stored any more: they compare the version that w replaced.
func (h *held) confirm(w attempt, version int64) {
	h.record, h.version = w.record, version
	h.inDoubt = h.inDoubt[:0]
	if w.release {
		h.lost = coord.ErrLost
		h.c.nodes.unuse(h.node.Token)
	}
}

// lose gives the claim up for good, and says why.
func (h *held) lose(why error, nodeRemains bool) {
	h.lost = why
	if nodeRemains {
		h.c.nodes.orphan(h.node.Token)
		return
	}
	h.c.nodes.unuse(h.node.Token)
}
