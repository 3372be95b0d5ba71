package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/internal/faultproxy"
)

// claimant is a daemon's side of the coordinator, behind a proxy.
type claimant struct {
	coord.Coordinator
	incarnation string
	claim       coord.Claim
	progress    coord.Progress // the last that was acknowledged
}

// replies is a drill of lost replies.
type replies struct {
	*testCluster
	proxy  *faultproxy.Proxy
	trials int
	tries  int // of calls that a fault made fail
}

// call is a kind of call, made by a claimant that is ready for it. It must succeed when it is made
// again and again.
type call struct {
	name string
	// ready makes what the call needs.
	ready func(r *replies, c *claimant)
	do    func(ctx context.Context, r *replies, c *claimant) error
	// released is set if the claimant has no claim afterwards.
	released bool
}

func joined(r *replies, c *claimant) { r.again(c, doJoin) }

func claimed(r *replies, c *claimant) {
	joined(r, c)
	r.again(c, doClaim)
}

func granted(r *replies, c *claimant) {
	claimed(r, c)
	r.again(c, doExtend)
}

func doJoin(ctx context.Context, r *replies, c *claimant) error {
	_, err := coordtest.CreateAndJoin(ctx, c.Coordinator, r.coordLayout())
	return err
}

func doClaim(ctx context.Context, _ *replies, c *claimant) error {
	claim, err := coordtest.Claim(ctx, c, coord.Request{Worker: coord.AnyWorker, Latest: 1 << 40})
	if err == nil {
		c.claim, c.progress = claim, coord.Progress{Ceiling: claim.Floor()}
	}
	return err
}

func doExtend(ctx context.Context, r *replies, c *claimant) error {
	next := coord.Progress{Ceiling: c.progress.Ceiling + 1000, Issued: c.progress.Ceiling, Mark: c.progress.Ceiling}
	err := c.claim.Extend(ctx, next)
	if err == nil {
		c.progress = next
		// Believed, so it must be stored.
		if m := r.holder(c.claim.Worker()); m == nil || m.Ceiling != next.Ceiling || m.Opening != c.claim.Opening() {
			r.Errorf("%s: the ceiling %d was acknowledged, and what is stored is %+v", c.incarnation, next.Ceiling, m)
		}
	}
	return err
}

func doRelease(ctx context.Context, _ *replies, c *claimant) error {
	return c.claim.Release(ctx, c.progress.Issued+1)
}

func doList(ctx context.Context, r *replies, c *claimant) error {
	members, err := c.Members(ctx)
	if err == nil && !slices.ContainsFunc(members, func(m coord.Member) bool { return m.Incarnation == c.incarnation && m.Ceiling == c.progress.Ceiling }) {
		r.Errorf("%s is not listed with its ceiling %d: %+v", c.incarnation, c.progress.Ceiling, members)
	}
	return err
}

var calls = []call{
	{"join", func(*replies, *claimant) {}, doJoin, false},
	{"claim: create and open", joined, doClaim, false},
	{"extend", claimed, doExtend, false},
	{"list", granted, doList, false},
	{"release", granted, doRelease, true},
}

// again makes a call until it succeeds.
func (r *replies) again(c *claimant, do func(context.Context, *replies, *claimant) error) {
	r.Helper()
	first := true
	r.soon("a call that succeeds", func() bool {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		err := do(ctx, r, c)
		if err != nil && !first {
			r.tries++
		}
		first = false
		if final(err) {
			r.Fatalf("%s: %v", c.incarnation, err)
		}
		return err == nil
	})
}

// final reports whether err says that calling again is in vain.
func final(err error) bool {
	return errors.Is(err, coord.ErrLost) || errors.Is(err, coord.ErrOtherCluster) || errors.Is(err, coord.ErrClosed)
}

// claimant opens a coordinator through the proxy.
func (r *replies) claimant() *claimant {
	r.Helper()
	r.trials++
	incarnation := fmt.Sprintf("I%d", r.trials)
	c, err := connect.Open(r.Context(), connect.Config{
		URL:      r.urlOf([]string{r.proxy.Address()}, "drill"),
		TTL:      time.Minute, // no trial takes as long
		Identity: coord.Identity{Host: incarnation, PID: 1, Incarnation: incarnation},
		Log:      hclog.NewNullLogger(),
	})
	if err != nil {
		r.Fatal(err)
	}
	return &claimant{Coordinator: c, incarnation: incarnation}
}

// trial makes one call while a fault is there, and then goes on as a daemon would. It returns how
// many bytes of replies the call had.
func (r *replies) trial(k call, fault func(do func(context.Context) error) error) (bytes int64) {
	r.Helper()
	c := r.claimant()
	defer func() {
		// The end of a session that is not answered in time is no mistake: the session ends with its lease.
		if err := c.Close(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			r.Errorf("%s: %v", k.name, err)
		}
	}()
	k.ready(r, c)
	_, before := r.proxy.Counts()
	err := fault(func(ctx context.Context) error { return k.do(ctx, r, c) })
	_, after := r.proxy.Counts()
	r.proxy.Disarm()
	r.proxy.Open()
	if final(err) {
		r.Fatalf("%s: %v", k.name, err)
	}
	if err != nil {
		r.tries++
		r.again(c, k.do)
	}
	if k.released {
		if n := r.claimNodes(); n != 0 {
			r.Errorf("%s: %d claims are left after it was given back", k.name, n)
		}
		return after - before
	}
	if c.claim == nil {
		r.again(c, doClaim)
	}
	// The claims that a lost reply left behind are gone after a few publishes.
	r.soon("one claim and no other", func() bool {
		r.again(c, doExtend)
		return r.claimNodes() == 1
	})
	m := r.members()
	if len(m) != 1 || m[0].Incarnation != c.incarnation || m[0].Worker != c.claim.Worker() || m[0].Opening != c.claim.Opening() || m[0].Ceiling != c.progress.Ceiling {
		r.Errorf("%s: the claimant has %+v up to %d, and listed are %+v", k.name, c.claim, c.progress.Ceiling, m)
	}
	r.again(c, doRelease)
	if n := r.claimNodes(); n != 0 {
		r.Errorf("%s: %d claims are left", k.name, n)
	}
	return after - before
}

// TestLostReply loses, delays and cuts the reply to each kind of call: no claim is kept twice, no
// mark is believed that is not stored, and the next call goes on.
func TestLostReply(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		w.setLayout("time=41@1ms,worker=2,sequence=16;epoch=2026-01-01") // few records, so that a listing is short
		r := &replies{testCluster: w, proxy: faultproxy.Listen(t, w.addresses()[0])}
		r.observer() // makes the cluster
		for _, k := range calls {
			begun, trials, tries := time.Now(), r.trials, r.tries
			var length int64
			for range 2 { // the first may have more to send, such as tables
				length = r.trial(k, func(do func(context.Context) error) error { return do(r.Context()) })
			}
			r.trial(k, r.dropped)
			r.trial(k, r.abandoned)
			r.trial(k, r.delayed)
			offsets, fired := r.offsets(length), 0
			for _, n := range offsets {
				r.trial(k, func(do func(context.Context) error) error {
					cut := r.proxy.CutReplyAt(n)
					ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
					defer cancel()
					err := do(ctx)
					if cut.Fired() {
						fired++
					}
					return err
				})
			}
			if fired < len(offsets)/2 {
				r.Errorf("%s: only %d of %d cuts happened; the drill is void", k.name, fired, len(offsets))
			}
			r.figure("%s: %d bytes of replies, cut at %d of them; %d trials, %d calls had to be made again; %v a trial", k.name, length, fired,
				r.trials-trials, r.tries-tries, (time.Since(begun) / time.Duration(r.trials-trials)).Round(time.Microsecond))
		}
	})
}

// offsets are where the replies are cut.
func (r *replies) offsets(length int64) []int64 {
	var all []int64
	for n := range length {
		all = append(all, n)
	}
	if *long {
		return all
	}
	short := []int64{0, 1, 2, length / 2, length - 2, length - 1}
	for range 6 {
		short = append(short, rand.Int64N(length))
	}
	return short
}

// dropped loses the reply while the connection stays.
func (r *replies) dropped(do func(context.Context) error) error {
	r.proxy.DropReplies()
	return r.givenUp(do)
}

// abandoned has the reply come when nobody waits for it any more.
func (r *replies) abandoned(do func(context.Context) error) error {
	r.proxy.Hold()
	err := r.givenUp(do)
	r.proxy.Release()
	return err
}

func (r *replies) givenUp(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(r.Context(), 300*time.Millisecond)
	defer cancel()
	err := do(ctx)
	if err == nil {
		r.Error("a call succeeded without its reply")
	}
	return err
}

// delayed has the reply come late.
func (r *replies) delayed(do func(context.Context) error) error {
	before, _ := r.proxy.Counts()
	r.proxy.Hold()
	ended := make(chan error)
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	go func() { ended <- do(ctx) }()
	r.soon("a request that passes", func() bool { requests, _ := r.proxy.Counts(); return requests > before })
	r.proxy.Release()
	return <-ended
}

// TestDaemonBehindBadNetwork cuts a daemon's connections, at random bytes, from its start to its
// stop, under load.
func TestDaemonBehindBadNetwork(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		proxy := faultproxy.Listen(t, w.addresses()[0])
		lives, cuts := 2, 12
		if *long {
			lives, cuts = 3, 80
		}
		w.observer()
		c := w.config("cut")
		c.Cluster.Coord = w.urlOf([]string{proxy.Address()}, "drill")
		c.Grant.Publish, c.Grant.Window = 100*time.Millisecond, 10*time.Minute
		ids := 0
		for range lives {
			cut := proxy.CutReplyAt(rand.Int64N(600))
			n := w.start(c)
			load := n.stream(rate() / 2)
			for range cuts {
				w.soon("a cut", func() bool {
					believed := n.granted()
					if m := w.holder(n.holds()); m != nil && m.Ceiling < believed {
						w.Errorf("the daemon believes in a ceiling of %d, and %d is stored", believed, m.Ceiling)
					}
					return cut.Fired()
				})
				cut = proxy.CutReplyAt(rand.Int64N(600))
			}
			proxy.Disarm()
			was := n.granted()
			w.soon("grants as before", func() bool { return n.info()["condition"] == "" && n.granted() > was })
			w.soon("one claim and no other", func() bool { return w.claimNodes() == 1 })
			ids += load.finish()
			proxy.CutReplyAt(rand.Int64N(400))
			n.stop()
		}
		w.figure("%d lives behind %d cuts: %d IDs at %d/s, none refused", lives, lives*(cuts+2), ids, rate()/2)
	})
}

// rate is how many IDs a second a daemon is asked for under load.
func rate() int {
	if *long {
		return 10_000
	}
	return 1000
}
