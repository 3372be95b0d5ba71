package coordtest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

var clocks = []testCase{
	{"clocks: each server on another machine tells the time", toldTime},
	{"clocks: a server on this machine is not asked", ownServers},
	{"clocks: to ask changes nothing", nothingChanged},
	{"clocks: servers that do not answer are counted", silentServers},
	{"clocks: a tree that is wiped is not written", wipedClocks},
}

// wall is what this machine's clock shows.
func wall() time.Time { return time.Unix(0, clockguard.System{}.Now().Wall) }

// elsewhere starts a daemon that takes the servers for other machines', if there can be such.
func (k *kit) elsewhere(host string) *node {
	k.Helper()
	if k.Elsewhere == nil {
		return k.start(host)
	}
	return k.startBy(k.Elsewhere, host)
}

func toldTime(k *kit) {
	n := k.elsewhere("a")
	for range 3 {
		before := wall()
		shown, err := n.Clocks(k.Context())
		after := wall()
		if err != nil || len(shown) != k.Clocks {
			k.Fatalf("Clocks: %+v, %v; want %d of them", shown, err, k.Clocks)
		}
		for i, c := range shown {
			switch {
			case c.Err != nil:
				k.Errorf("%q did not tell: %v", c.Server, c.Err)
			case c.Server == "" || i > 0 && c.Server == shown[i-1].Server:
				k.Errorf("a clock is called %q", c.Server)
			case c.Error <= 0 || c.Error > 2*time.Second:
				k.Errorf("%s may be off by %v", c.Server, c.Error)
			case c.Time.Add(c.Error).Before(before) || c.Time.Add(-c.Error).After(after):
				k.Errorf("%s shows %v, to %v; asked from %v to %v", c.Server, c.Time, c.Error, before, after)
			}
		}
	}
}

// ownServers relies on it that the servers of tests are on this machine.
func ownServers(k *kit) {
	if shown, err := k.start("a").Clocks(k.Context()); err != nil || len(shown) != 0 {
		k.Errorf("Clocks: %+v, %v; want none", shown, err)
	}
}

func nothingChanged(k *kit) {
	n := k.elsewhere("a")
	c := n.claim(wanting(3))
	k.extend(c, coord.Progress{Ceiling: 500, Issued: 7, Mark: 20})
	o := k.Operator(k)
	inspect := func() coord.Inspected {
		return must.Get(o.Inspect(k.Context()))(k)
	}
	before, inspected := n.members(), inspect()
	for range 2 {
		must.Get(n.Clocks(k.Context()))(k)
	}
	if after := n.members(); !slices.Equal(after, before) {
		k.Errorf("the members were %+v and are %+v", before, after)
	}
	if after := inspect(); after != inspected {
		k.Errorf("the cluster was %+v and is %+v", inspected, after)
	}
	k.extend(c, coord.Progress{Ceiling: 600})
	k.release(c, 50)
}

func silentServers(k *kit) {
	if k.Halt == nil {
		return
	}
	n := k.elsewhere("a")
	must.Get(n.Clocks(k.Context()))(k) // while all is well
	k.Halt(k)
	start := clockguard.System{}.Now().Mono
	shown, err := n.Clocks(k.Context())
	if err != nil || len(shown) != k.Clocks {
		k.Fatalf("Clocks: %+v, %v; want %d of them", shown, err, k.Clocks)
	}
	for _, c := range shown {
		if c.Err == nil || c.Server == "" || !c.Time.IsZero() {
			k.Errorf("%+v; want an error", c)
		}
	}
	// It is a second; a machine that does much else gets more.
	if took := (clockguard.System{}).Now().Mono.Sub(start); took > 5*time.Second {
		k.Errorf("it took %v", took)
	}
	ctx, cancel := context.WithTimeout(k.Context(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	if _, err := n.Clocks(ctx); !errors.Is(err, context.DeadlineExceeded) {
		k.Errorf("Clocks after its context: %v", err)
	}
}

// wipedClocks makes sure that asking is no way to write into a tree that is gone or another's.
func wipedClocks(k *kit) {
	if k.Wipe == nil {
		return
	}
	n := k.elsewhere("a")
	n.claim(anyone()) // something to wipe
	k.Wipe(k)
	if _, err := n.Clocks(k.Context()); err != nil && !errors.Is(err, coord.ErrOtherCluster) {
		k.Errorf("Clocks: %v", err)
	}
	if _, err := n.Look(k.Context()); !errors.Is(err, coord.ErrOtherCluster) {
		k.Errorf("Look: %v, want ErrOtherCluster: the tree was made again", err)
	}
}
