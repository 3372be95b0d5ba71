//go:build e2e

package drills

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/flakeward/flakeward/generator"
)

// all waits until n more IDs have arrived from each of the hosts.
func all(ctx context.Context, n int, hosts ...*Host) {
	each(hosts, func(h *Host) { h.AwaitIDs(ctx, n) })
}

// says fails if a text does not have all of parts.
func says(who, text string, parts ...string) {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			fail("%s should say %q, and says: %s", who, p, text)
		}
	}
}

// granted is how far ahead the daemon of a host may issue.
func (h *Host) granted(ctx context.Context) time.Duration {
	return time.Duration(h.number(ctx, "marks_ahead_ms")) * time.Millisecond
}

// longGrant is the least that the second grant of a process reaches ahead.
const longGrant = 10 * time.Second

// grown fails unless the daemon of a host has more than the short first grant of a process: half of
// a later one, or of the window, is left.
func (h *Host) grown(ctx context.Context) {
	if d := h.granted(ctx); d < min(cmp.Or(h.r.options.Window, longGrant), longGrant)/2 {
		fail("%s may issue for %v", h.Name, d)
	}
}

// granted waits until each of the hosts has been granted more than it had, or has no need of more:
// the coordinator answers it.
func granted(ctx context.Context, r *Run, hosts ...*Host) {
	each(hosts, func(h *Host) {
		had := generator.Tick(-1)
		until(ctx, func() {
			now := h.holds(ctx)
			// So far ahead ends a grant that was extended just before a clock that was an hour
			// ahead came back, and with nothing issued there it is kept: there is no more to ask
			// for until then.
			enough := r.Layout.TickAt(time.Now().Add(h.Offset() + 2*r.options.Window).UnixNano())
			before := had
			if had < 0 {
				had = now.ceiling
			}
			if now.condition != "" || !(now.claimed && now.ceiling > enough) && (before < 0 || now.ceiling <= before) {
				fail("it had a grant to %d, and has one to %d: %s", before, now.ceiling, now.condition)
			}
		}, "%s to be granted more", h)
	})
}

// awaitUnreachable waits until each of the hosts says that the coordinator does not answer it.
func awaitUnreachable(ctx context.Context, hosts ...*Host) {
	each(hosts, func(h *Host) {
		until(ctx, func() {
			if h.holds(ctx).condition == "" {
				fail("it has no condition")
			}
		}, "%s to miss the coordinator", h)
	})
}

// lapsed waits until the coordinator has ended the session of a claim.
func lapsed(ctx context.Context, r *Run, claim string) {
	until(ctx, func() {
		if slices.Contains(r.Members.Claims(ctx), claim) {
			fail("the claim is there")
		}
	}, "the end of the session of claim %s", claim)
}

// reclaimed waits until a host holds a claim other than the one it had.
func reclaimed(ctx context.Context, h *Host, had held) (now held) {
	until(ctx, func() {
		if now = h.holds(ctx); !now.claimed || now.claim == had.claim || now.condition != "" {
			fail("it holds worker ID %d by claim %s: %q", now.worker, now.claim, now.condition)
		}
	}, "%s to claim again", h)
	return now
}

// cast are three daemons of which one found no worker ID.
func cast(ctx context.Context, r *Run) (has, other, without *Host) {
	until(ctx, func() {
		has, other, without = nil, nil, nil
		for _, h := range r.Hosts {
			switch now := h.holds(ctx); {
			case now.worker < 0:
				without = h
			case has == nil:
				has = h
			default:
				other = h
			}
		}
		if has == nil || other == nil || without == nil {
			fail("not so yet")
		}
	}, "two daemons that hold a worker ID and one that has none")
	return has, other, without
}
