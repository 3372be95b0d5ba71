package etcd_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/internal/must"
)

// A record that is changed between the reading and the opening, as an operator
// does who raises the marks: what was decided on the old one is void.
func TestOpeningIsSealed(t *testing.T) {
	tr := newTree(t)
	c := tr.daemon("a")
	first := tr.claim(c, want(0))
	tr.extend(first, coord.Progress{Ceiling: 60})
	tr.revoke(c)
	raised := false
	etcd.Intercept(c, func(ctx context.Context, k etcd.Kind, send func(context.Context) error) error {
		if k == etcd.KindOpening && !raised {
			raised = true
			_, err := tr.Client().Put(ctx, c.Root()+"workers/0000000", `{"ceiling":200,"holder":"OPERATOR","nonce":"N"}`)
			if err != nil {
				return err
			}
		}
		return send(ctx)
	})
	got := tr.claim(c, want(0))
	if got.Worker() != 0 || got.Floor() != 200 {
		t.Errorf("worker ID %d, floor %d; want 0, 200", got.Worker(), got.Floor())
	}
}

// The marks are raised between the reading and the opening, or after an opening whose
// reply was lost: what was decided before is void, and so is what was stored.
func TestOpeningUnderARaise(t *testing.T) {
	for _, landed := range []bool{false, true} {
		tr := newTree(t)
		c, operator := tr.daemon("a"), tr.daemon("o")
		first := tr.claim(c, want(0))
		tr.extend(first, coord.Progress{Ceiling: 60})
		tr.revoke(c)
		raised := false
		etcd.Intercept(c, func(ctx context.Context, k etcd.Kind, send func(context.Context) error) error {
			if k != etcd.KindOpening || raised {
				return send(ctx)
			}
			raised = true
			if landed {
				if err := send(ctx); err != nil {
					return err
				}
			}
			if _, err := operator.Raise(ctx, 200); err != nil {
				return err
			}
			if landed {
				return coordtest.ErrFault
			}
			return send(ctx)
		})
		got := tr.claim(c, want(0))
		if got.Worker() != 0 || got.Floor() != 200 {
			t.Errorf("landed %v: worker ID %d, floor %d; want 0, 200", landed, got.Worker(), got.Floor())
		}
		tr.extend(got, coord.Progress{Ceiling: 300})
	}
}

// Of several nodes that name one worker ID, the first created is the member, and
// the name decides nothing.
func TestMembersShowTheOwner(t *testing.T) {
	tr := newTree(t)
	c := tr.daemon("m")
	claim := tr.claim(c, want(4))
	for _, name := range []string{"0000004-AAA-AAA", "0000004-zzz-zzz", "0000004-0-0-0", "nonsense", "0000099-A-B"} {
		must.Get(tr.Client().Put(t.Context(), c.Root()+"claims/"+name, "no JSON"))(t)
	}
	members, err := c.Members(t.Context())
	if err != nil || len(members) != 1 || members[0].Claim != claim.Name() {
		t.Errorf("Members: %+v, %v; want %s alone", members, err, claim.Name())
	}
	tr.extend(claim, coord.Progress{Ceiling: 10})
}

// A request that gets no answer at all is cut by the caller's context, and without
// one by the timeout of a request.
func TestRequestsWithoutAnswer(t *testing.T) {
	tr := newTree(t)
	for _, byCaller := range []bool{true, false} {
		timeout := time.Hour
		if !byCaller {
			timeout = time.Millisecond
		}
		for _, call := range []struct {
			name string
			run  func(context.Context, *etcd.Coordinator, coord.Claim) error
		}{
			{"Join", func(ctx context.Context, c *etcd.Coordinator, _ coord.Claim) error {
				_, err := c.Join(ctx, coord.Layout{Text: "layout", Workers: 8})
				return err
			}},
			{"Claim", func(ctx context.Context, c *etcd.Coordinator, _ coord.Claim) error {
				_, err := c.Claim(ctx, want(7))
				return err
			}},
			{"Members", func(ctx context.Context, c *etcd.Coordinator, _ coord.Claim) error {
				_, err := c.Members(ctx)
				return err
			}},
			{"Extend", func(ctx context.Context, _ *etcd.Coordinator, claim coord.Claim) error {
				return claim.Extend(ctx, coord.Progress{Ceiling: 10})
			}},
			{"Release", func(ctx context.Context, _ *etcd.Coordinator, claim coord.Claim) error {
				return claim.Release(ctx, 10)
			}},
		} {
			c := tr.daemon("a" + call.name)
			claim := tr.claim(c, coord.Request{Worker: coord.AnyWorker, Latest: 100})
			etcd.SetTimeout(c, timeout)
			ctx, cancel := context.WithCancel(t.Context())
			asked := make(chan struct{})
			var once sync.Once
			etcd.Intercept(c, func(ctx context.Context, _ etcd.Kind, _ func(context.Context) error) error {
				once.Do(func() { close(asked) })
				<-ctx.Done()
				return ctx.Err()
			})
			done := make(chan error, 1)
			go func() { done <- call.run(ctx, c, claim) }()
			<-asked
			// Release keeps trying until its caller's context ends.
			if byCaller || call.name == "Release" {
				cancel()
			}
			err := <-done
			cancel()
			if err == nil || errors.Is(err, coord.ErrLost) {
				t.Errorf("%s: %v", call.name, err)
			}
			if byCaller && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, want the context's error", call.name, err)
			}
			if !byCaller && call.name != "Release" && (!errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 1ms")) {
				t.Errorf("%s: %v, want that there was no answer within 1ms", call.name, err)
			}
			etcd.SetTimeout(c, time.Minute)
			tr.revoke(c)
		}
	}
}

// A claim after the session's end gets a new one, before the client has noticed.
func TestSessionsOneAfterTheOther(t *testing.T) {
	tr := newTree(t)
	c := tr.daemon("a")
	for range 3 {
		claim := tr.claim(c, want(1))
		if claim.Worker() != 1 {
			t.Fatalf("worker ID %d, want 1", claim.Worker())
		}
		tr.extend(claim, coord.Progress{Ceiling: 10})
		tr.revoke(c)
	}
}
