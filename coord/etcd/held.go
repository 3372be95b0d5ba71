package etcd

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// held implements coord.Claim.
type held struct {
	c         *Coordinator
	joined    joined // the cluster that the claim is of
	worker    int
	name      string
	created   int64 // the claim node's create revision
	opening   string
	continues bool
	floor     generator.Tick
	least     generator.Tick // a release never goes below it

	turn    turn // guards what follows; held during a request, waited for with a context
	version int64
	record  record // as the writer saw it last
	doubts  []doubt
	lost    bool
}

// doubt is a write of which it is unknown whether it was stored. All doubts of a
// claim compare the same version, so at most one of them was.
type doubt struct {
	record  record
	release bool
}

// maxDoubts bounds what a claim remembers of a long outage. If one that was
// forgotten turns out to be the one that was stored, the claim is given up.
const maxDoubts = 64

func (h *held) Worker() int           { return h.worker }
func (h *held) Name() string          { return h.name }
func (h *held) Opening() string       { return h.opening }
func (h *held) Continues() bool       { return h.continues }
func (h *held) Floor() generator.Tick { return h.floor }

// Extend implements coord.Claim.
func (h *held) Extend(ctx context.Context, progress coord.Progress) error {
	if err := h.turn.take(ctx); err != nil {
		return fmt.Errorf("%s: %s of worker ID %d: an earlier call is not done: %w", h.c.name(), kindExtend, h.worker, err)
	}
	defer h.turn.give()
	for !h.lost {
		next := h.record
		next.Ceiling = max(next.Ceiling, progress.Ceiling)
		next.Issued = max(next.Issued, progress.Issued)
		next.Mark = max(next.Mark, progress.Mark)
		next.Nonce = token()
		stored, err := h.write(ctx, kindExtend, doubt{record: next})
		if err != nil {
			return err
		}
		if stored {
			h.c.reap(ctx)
			return nil
		}
	}
	return fmt.Errorf("worker ID %d: %w", h.worker, coord.ErrLost)
}

// Release implements coord.Claim.
func (h *held) Release(ctx context.Context, last generator.Tick) error {
	if err := h.turn.take(ctx); err != nil {
		return fmt.Errorf("%s: %s %d: an earlier call is not done: %w", h.c.name(), kindRelease, h.worker, err)
	}
	defer h.turn.give()
	for !h.lost {
		next := h.record
		next.Ceiling = max(h.least, next.Issued, last)
		next.Issued, next.Mark = next.Ceiling, next.Ceiling
		next.Nonce = token()
		stored, err := h.write(ctx, kindRelease, doubt{record: next, release: true})
		switch {
		case stored:
			return nil
		case err == nil:
		case ctx.Err() != nil || !worthRetrying(err):
			return err
		default:
			pause(ctx, retryPause)
		}
	}
	return fmt.Errorf("worker ID %d: %w", h.worker, coord.ErrLost)
}

// write sends one write of the record, fenced. It reports whether w is stored.
// If it is not, either the claim is lost, or an earlier write in doubt was found
// to be stored and the caller is to decide anew. After an error w is in doubt.
func (h *held) write(ctx context.Context, k kind, w doubt) (stored bool, err error) {
	then := []clientv3.Op{clientv3.OpPut(h.c.keys.record(h.worker), encode(w.record))}
	if w.release {
		then = append(then, clientv3.OpDelete(h.c.keys.claim(h.name)))
	}
	// In doubt before it is sent: whatever happens now, it may have been stored.
	if len(h.doubts) == maxDoubts {
		h.doubts = append(h.doubts[:0], h.doubts[1:]...)
	}
	h.doubts = append(h.doubts, w)
	resp, err := h.c.inCluster(ctx, h.joined, k, h.c.fence(h.worker, h.name, h.created, h.version), then, h.c.look(h.worker, h.name))
	if err != nil {
		return false, fmt.Errorf("worker ID %d: %w", h.worker, err)
	}
	if resp.Succeeded {
		h.settle(w, resp.Header.Revision)
		return true, nil
	}
	claim, found := kvAt(resp, 0), kvAt(resp, 1)
	landed, ok := h.ownWrite(found)
	if !ok {
		h.lose(claim != nil)
		return false, nil
	}
	h.settle(landed, found.ModRevision)
	return landed.record.Nonce == w.record.Nonce || landed.release && w.release, nil
}

// ownWrite returns the write in doubt that the record shows as stored.
func (h *held) ownWrite(found *mvccpb.KeyValue) (doubt, bool) {
	if found == nil {
		return doubt{}, false
	}
	r, err := h.c.decodeRecord(found)
	if err != nil {
		h.c.log.Error("a record changed under its claim", "error", err)
		return doubt{}, false
	}
	for _, d := range h.doubts {
		if d.record == r {
			return d, true
		}
	}
	return doubt{}, false
}

// settle makes w the last write that is known to be stored. No other one in doubt
// can be stored any more: they compare the version that w replaced.
func (h *held) settle(w doubt, version int64) {
	h.record, h.version = w.record, version
	h.doubts = h.doubts[:0]
	if w.release {
		h.lost = true
		h.c.unuse(h.name)
	}
}

// lose gives the claim up for good.
func (h *held) lose(nodeRemains bool) {
	h.lost = true
	if nodeRemains {
		h.c.orphan(h.name)
		return
	}
	h.c.unuse(h.name)
}
