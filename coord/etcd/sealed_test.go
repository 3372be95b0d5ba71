package etcd_test

import (
	"context"
	"testing"

	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/internal/must"
)

// A record that is changed between the reading and the opening, as an operator
// does who raises the marks: what was decided on the old one is void.
func TestOpeningIsSealed(t *testing.T) {
	tr := newTree(t)
	c := tr.daemon("a")
	first := tr.claim(c, want(0))
	tr.extend(first, 60)
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
	tr.extend(claim, 10)
}
