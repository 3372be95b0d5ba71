package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/faultproxy"
	"github.com/flakeward/flakeward/internal/must"
)

// TestDaemonsCutOffForLongerThanTheirSessions loses every packet between three daemons and the
// coordinator until their sessions have ended, in the long form for a minute. Each has another session
// then, and claims the same worker ID again: its opening is the one of before, and no request fails.
func TestDaemonsCutOffForLongerThanTheirSessions(t *testing.T) {
	on(t, 10*time.Minute, func(w *testCluster) {
		ttl, least, spare, rate := 2*time.Second, 2*time.Second, 9*time.Second, 1000
		if *long {
			ttl, least, spare, rate = 10*time.Second, time.Minute, 20*time.Second, 10_000
		}
		proxy := faultproxy.Listen(w, w.address)
		var nodes []*node
		var loads []*load.Client
		for i := range 3 {
			c := w.config(fmt.Sprint("cut", i))
			c.Cluster.Coord, c.Cluster.TTL = w.url(proxy.Address()), ttl
			nodes = append(nodes, w.start(c))
			loads = append(loads, must.Get(load.Open(w.Context(), c.Socket.Path, load.Config{Rate: rate}))(w))
		}
		for _, n := range nodes {
			w.soon("a grant that outlasts the cut", func() bool { return n.granted() > w.tick()+w.ticks(least+spare) })
		}
		had, sessions := w.opened(len(nodes)), must.Get(w.sessions())(w)
		proxy.Hang()
		cut := time.Now()
		w.soon("the end of the sessions", func() bool {
			left, err := w.sessions()
			return err == nil && len(left) == 0 && time.Since(cut) >= least
		})
		lasted := time.Since(cut)
		proxy.Open()
		for i, m := range w.opened(len(nodes)) {
			if m.Worker != had[i].Worker || m.Host != had[i].Host || m.Opening != had[i].Opening || m.Claim == had[i].Claim {
				w.Errorf("after the cut %+v holds a worker ID, before it %+v", m, had[i])
			}
		}
		for _, s := range must.Get(w.sessions())(w) {
			if slices.Contains(sessions, s) {
				w.Errorf("session %x is one of before: %x", s, sessions)
			}
		}
		for i, l := range loads {
			ids, refused, err := l.Close()
			if err != nil || refused > 0 {
				w.Errorf("of %d requests %d were refused, and the connection ended with %v", len(ids)+int(refused), refused, err)
			}
			w.handedOut(nodes[i], ids...)
		}
		w.Logf("FIGURE %d daemons cut off for %v with sessions of %v, at %d/s: other sessions, the same worker IDs", len(nodes), lasted.Round(time.Millisecond), ttl, len(nodes)*rate)
	})
}

// opened waits until so many daemons hold a worker ID that they have opened, and returns them.
func (w *testCluster) opened(n int) (members []coord.Member) {
	w.Helper()
	o := must.Get(connect.Operate(connect.Config{URL: w.url(w.address)}))(w)
	defer o.Close() // it has only looked
	must.Get(o.Inspect(w.Context()))(w)
	w.soon("all hold a worker ID", func() bool {
		var err error
		members, err = o.Members(w.Context())
		return err == nil && len(members) == n && !slices.ContainsFunc(members, func(m coord.Member) bool { return m.Opening == "" })
	})
	return members
}
