package claims

import (
	"context"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/internal/mutex"
	"github.com/flakeward/flakeward/generator"
)

// Reopen implements coord.Claim. A reopening is an opening that the holder makes. It compares the
// version that the holder has seen last, and the holder's own claim node has to exist. All that the
// claim was granted stays granted.
//
// A write without an answer is sent again unchanged, as in pending.open. If the caller gives up,
// the write stays in doubt, and the next call on the claim finds out whether it was stored.
func (h *held) Reopen(ctx context.Context, at, latest generator.Tick) (coord.Claim, error) {
	if err := h.begin(ctx, doingOpen); err != nil {
		return nil, err
	}
	defer h.mutex.Unlock()
	for h.lost == nil {
		w, err := h.reopening(ctx, at, latest)
		if err != nil {
			return nil, err
		}
		if h.lost != nil {
			break
		}
		if err := h.reopen(ctx, w); err != nil {
			return nil, err
		}
	}
	if next := h.next; next != nil {
		h.next = nil
		return next, nil
	}
	return nil, h.ended()
}

// reopening is the write that opens the record anew for the time. A claim from before a raise is
// lost by it.
func (h *held) reopening(ctx context.Context, at, latest generator.Tick) (attempt, error) {
	var w attempt
	err := h.c.cluster.inCluster(ctx, func(j *cluster) error {
		if j.epoch != h.epoch {
			h.lose(&coord.RaisedError{Raise: j.raise()}, true)
			return nil
		}
		p := h.record.vacancy(at, j.window)
		if p.floor > latest || p == (vacancy{h.record.granted(), h.until, h.record.granted()}) {
			return &coord.NoRoomError{Worker: h.Worker(), Floor: p.floor, Latest: latest}
		}
		stored, err := h.c.store.History(ctx, j.entry, h.Worker())
		if err != nil {
			return err
		}
		o := j.openAt(h.record, p)
		o.record.Holder, o.record.Nonce = coord.OpeningID(h.c.random.token(), h.epoch), h.c.random.token()
		w = attempt{record: o.record, reopen: &o, history: h.c.nextHistory(j, h.Worker(), stored, h.record, h.c.interval(o.record, o.from, h.lane, h.since))}
		return nil
	})
	return w, err
}

// reopen sends the write until its outcome is known, or that of an earlier write in doubt.
func (h *held) reopen(ctx context.Context, w attempt) error {
	for {
		_, err := h.write(ctx, w)
		if err == nil || ctx.Err() != nil || !worthRetrying(err) {
			return err
		}
		pause(ctx, h.c.clock, retryPause)
	}
}

// after is the claim that a reopening has made of this one.
func (h *held) after(w attempt, version int64) *held {
	return &held{
		c: h.c, node: h.node, epoch: h.epoch, opening: w.record.Holder,
		floor: w.reopen.floor, until: w.record.Until, minimum: w.reopen.minimum, lane: h.lane, since: h.since,
		mutex: mutex.New(), version: version, record: w.record,
	}
}
