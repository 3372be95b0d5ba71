package coordtest

import (
	"errors"

	"github.com/flakeward/flakeward/coord"
)

var detaching = []testCase{
	{"detach: the claim stays as it was, and is not free", detachedClaim},
	{"detach: nothing is sent afterwards, and a close ends nothing", detachedCalls},
	{"detach: before there was a session", detachedEarly},
}

// detach detaches the node, which a copy of its process has done.
func (k *kit) detach(n *node) {
	k.Helper()
	if err := n.Detach(); err != nil {
		k.Fatalf("Detach: %v", err)
	}
}

func detachedClaim(k *kit) {
	observer, n := k.start("observer"), k.start("a")
	c := n.claim(wanting(3))
	k.extend(c, coord.Progress{Ceiling: 500, Issued: 7, Mark: 20})
	before, there := observer.member(3)
	if !there || before.Claim != c.Name() || before.Ceiling != 500 {
		k.Fatalf("before: %+v, %v", before, there)
	}
	k.detach(n)
	if after, _ := observer.member(3); after != before {
		k.Errorf("the member is now %+v, was %+v", after, before)
	}
	if other := k.start("b").claim(wanting(3)); other.Worker() == 3 {
		k.Error("worker ID 3 was claimed by another, although nobody ended the session")
	}
	// The same host starts anew, as a copy does, and is another daemon.
	again := k.start("a").claim(wanting(3))
	if again.Worker() == 3 {
		k.Error("worker ID 3 was claimed by the next start, although nobody ended the session")
	}
	if after, _ := observer.member(3); after != before {
		k.Errorf("after other claims the member is %+v, was %+v", after, before)
	}
}

func detachedCalls(k *kit) {
	observer, n := k.start("observer"), k.start("a")
	c := n.claim(wanting(3))
	k.extend(c, coord.Progress{Ceiling: 500})
	k.detach(n)
	_, claiming := Claim(k.Context(), n, fresh())
	_, listing := n.Members(k.Context())
	_, joining := n.Join(k.Context(), coord.Layout{Text: text, Workers: k.workers})
	for what, err := range map[string]error{
		"Join": joining, "Claim": claiming, "Members": listing,
		"Extend":  c.Extend(k.Context(), coord.Progress{Ceiling: 600}),
		"Release": c.Release(k.Context(), 400),
	} {
		if !errors.Is(err, coord.ErrClosed) {
			k.Errorf("%s after Detach: %v, want ErrClosed", what, err)
		}
	}
	for what, call := range map[string]func() error{"Detach once more": n.Detach, "Close": n.Close} {
		if err := call(); err != nil {
			k.Errorf("%s: %v", what, err)
		}
	}
	if m, there := observer.member(3); !there || m.Claim != c.Name() || m.Ceiling != 500 {
		k.Errorf("the member is now %+v, %v", m, there)
	}
}

func detachedEarly(k *kit) {
	k.detach(k.start("a"))
	n := k.Open(k, coord.Identity{Incarnation: "never"})
	if err := n.Detach(); err != nil {
		k.Errorf("Detach before Join: %v", err)
	}
	if _, err := n.Join(k.Context(), coord.Layout{Text: text, Workers: k.workers}); !errors.Is(err, coord.ErrClosed) {
		k.Errorf("Join after Detach: %v, want ErrClosed", err)
	}
}
