package coordtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/flakeward/flakeward/coord"
)

// call is one call of a daemon or of an operator.
type call struct {
	name string
	run  func(context.Context) error
}

// callsOf is every call of a daemon that takes a context.
func callsOf(n *node, c coord.Claim) []call {
	return []call{
		{"Join", func(ctx context.Context) error {
			_, err := n.Join(ctx, coord.Layout{Text: text, Workers: n.k.workers})
			return err
		}},
		{"Claim", func(ctx context.Context) error { _, err := n.Claim(ctx, wanting(c.Worker())); return err }},
		{"Claim fresh", func(ctx context.Context) error { _, err := n.Claim(ctx, fresh()); return err }},
		{"Members", func(ctx context.Context) error { _, err := n.Members(ctx); return err }},
		{"Look", func(ctx context.Context) error { _, err := n.Look(ctx); return err }},
		{"Extend", func(ctx context.Context) error { return c.Extend(ctx, coord.Progress{Ceiling: 9000, Issued: 800}) }},
		{"Release", func(ctx context.Context) error { return c.Release(ctx, Closed(300)) }},
	}
}

// operatorCalls is every call of an operator who has inspected the cluster.
func operatorCalls(o coord.Operator, claim string) []call {
	return []call{
		{"Members", func(ctx context.Context) error { _, err := o.Members(ctx); return err }},
		{"Marks", func(ctx context.Context) error { _, err := o.Marks(ctx); return err }},
		{"Raise", func(ctx context.Context) error { _, err := o.Raise(ctx, 9000); return err }},
		{"Clear", func(ctx context.Context) error { return o.Clear(ctx, claim) }},
		{"Widen", func(ctx context.Context) error { return o.Widen(ctx, coord.WorkerRange{}, 9000) }},
		{"NewUUID", func(ctx context.Context) error { _, err := o.NewUUID(ctx); return err }},
		{"History", func(ctx context.Context) error { _, err := o.History(ctx, 0); return err }},
	}
}

// named is the call of that name.
func named(calls []call, name string) call {
	return calls[slices.IndexFunc(calls, func(c call) bool { return c.name == name })]
}

// heldBack is a call of which a request is held back.
type heldBack struct {
	call    call
	cancel  context.CancelFunc
	done    chan error
	release func() // sends the request, and returns when the servers have done what they will do about it
}

// holdBack makes a call whose request that comes after n others is held back, and returns once it
// is. It returns nil if the call has no such request: it has succeeded then.
func (k *kit) holdBack(by coord.Coordinator, n int, c call) *heldBack {
	k.Helper()
	ctx, cancel := context.WithCancel(k.Context())
	delays := &k.wires[by].Delays
	held, release := delays.Arm(n)
	h := &heldBack{c, cancel, make(chan error, 1), release}
	go func() { h.done <- c.run(ctx) }()
	select {
	case err := <-h.done:
		cancel()
		delays.disarm()
		if n == 0 || err != nil {
			k.Fatalf("%s, request %d: nothing held it back: %v; the case is void", c.name, n, err)
		}
		return nil
	case <-held:
		return h
	}
}

// giveUp ends the call before its request is sent. A Claim whose hint alone was held back has
// succeeded.
func (h *heldBack) giveUp(k *kit) {
	k.Helper()
	h.cancel()
	if err := <-h.done; err != nil && !errors.Is(err, context.Canceled) {
		k.Fatalf("%s was held back: %v, want the context's error", h.call.name, err)
	}
}

// eachFault runs a scenario once for each of its requests and both ways to fail, until there is no
// such request any more. arm has a request of a coordinator fail.
func (k *kit) eachFault(scenario func(what string, arm func(coord.Coordinator) (happened func() bool)) (happened bool)) {
	k.Helper()
	for _, landed := range []bool{false, true} {
		for n := 0; ; n++ {
			what := fmt.Sprintf("request %d, landed %v", n, landed)
			if scenario(what, func(on coord.Coordinator) func() bool { return k.wires[on].Faults.Arm(n, landed) }) {
				continue
			}
			if n == 0 {
				k.Fatalf("%s: never happened; the case is void", what)
			}
			break
		}
	}
}
