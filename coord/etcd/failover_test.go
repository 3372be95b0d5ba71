package etcd_test

import (
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/must"
)

func progress(to int) coord.Progress { return coord.Progress{Ceiling: tick(to)} }

// kept wants the session to live.
func kept(t testing.TB, d dialled) {
	t.Helper()
	if d.log.count("WARN", "the coordinator session expired") > 0 {
		t.Errorf("the session was lost:\n%s", d.log)
	}
}

// Endpoints that are down are passed over, at the start and later, whichever member it
// is; the claim lives on.
func TestFailover(t *testing.T) {
	c := etcdtest.Start(t, etcdtest.Options{Members: 3})
	d := dial(t, etcd.Servers{Endpoints: append([]string{freeAddress(t)}, c.Endpoints()...)}, etcd.Config{TTL: 5 * time.Second, TryTimeout: time.Second})
	claim := d.works()
	for i := range 3 {
		c.Stop(i)
		start := time.Now()
		d.extends(claim, 100+i)
		t.Logf("member %d of 3 was stopped; an extend was acknowledged after %v", i, time.Since(start))
		c.Start(i)
	}
	c.StopAll()
	c.StartAll()
	d.extends(claim, 200)
	kept(t, d)
}

// outlives wants d's session to be renewed: it waits until a lease has ended that was
// granted now and that nobody renews, by the word of the member at the address, and asks
// for the session's then.
func outlives(t *testing.T, d dialled, address string, ttl time.Duration) {
	t.Helper()
	client := must.Get(clientv3.New(clientv3.Config{Endpoints: []string{address}, Logger: zap.NewNop()}))(t)
	defer client.Close()
	left := func(id clientv3.LeaseID) (seconds int64) {
		t.Helper()
		must.Eventually(t, "TimeToLive", func() error {
			got, err := client.TimeToLive(t.Context(), id)
			if err == nil {
				seconds = got.TTL // below 0: there is no such lease
			}
			return err
		})
		return seconds
	}
	var other clientv3.LeaseID
	must.Eventually(t, "Grant", func() error {
		got, err := client.Grant(t.Context(), int64(ttl/time.Second))
		if err == nil {
			other = got.ID
		}
		return err
	})
	must.Eventually(t, "the end of a lease", func() error {
		if n := left(other); n >= 0 {
			return fmt.Errorf("it has %d s left", n)
		}
		return nil
	})
	if left(etcd.Lease(d.Coordinator)) < 0 {
		t.Errorf("the session's lease has ended:\n%s", d.log)
	}
}

// A member that accepts everything and answers nothing does not cost the lease, though
// its connection looks alive for longer than the lease lives.
func TestSessionOutlivesAMemberThatHangs(t *testing.T) {
	c := etcdtest.Start(t, etcdtest.Options{Members: 3})
	const ttl = 5 * time.Second // of which a busy machine takes some
	// Of two endpoints, one has the session's stream.
	d := dial(t, etcd.Servers{Endpoints: c.Endpoints()[:2]}, etcd.Config{TTL: ttl, TryTimeout: time.Second})
	claim := d.works()
	for i := range 2 {
		resume := c.Hang(i)
		outlives(t, d, c.Endpoint(2), ttl)
		d.extends(claim, 100+i)
		kept(t, d)
		resume()
	}
	if n := d.log.count("WARN", "cannot renew"); n > 2 {
		t.Errorf("%d warnings, want one for each member at most:\n%s", n, d.log)
	}
}

// The whole cluster hangs for less than the lease lives: it is renewed in time afterwards.
func TestSessionOutlivesAPause(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	const ttl = 6 * time.Second
	d := dial(t, etcd.Servers{Endpoints: c.Endpoints()}, etcd.Config{TTL: ttl, TryTimeout: time.Second})
	claim := d.works()
	resume := c.Hang(0)
	// A renewal is due within a third of the lease's life, and is given up within a fifth.
	d.log.has(t, "WARN", "renew the session: it accepts connections and answers nothing: it is stopped or hangs")
	resume()
	d.log.has(t, "INFO", "renewed the coordinator session again")
	d.extends(claim, 100)
	kept(t, d)
	if d.log.count("INFO", "renewed the coordinator session again") != d.log.count("WARN", "cannot renew the coordinator session") {
		t.Errorf("the trouble and its end are not told in pairs:\n%s", d.log)
	}
}

// A renewal that fails is said by its cause, as any request is.
func TestWhyASessionIsNotRenewed(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, etcdtest.Options{})
	d := dial(t, etcd.Servers{Endpoints: c.Endpoints()}, etcd.Config{TTL: 6 * time.Second, TryTimeout: time.Second})
	d.works()
	for i := range 2 { // without a stream, and with one
		c.Stop(0)
		must.Eventually(t, "a warning", func() error {
			if n := d.log.count("WARN", "cannot renew the coordinator session; retrying"); n != i+1 {
				return fmt.Errorf("%d warnings, want %d", n, i+1)
			}
			return nil
		})
		if n := d.log.count("WARN", "renew the session: nothing listens there (connection refused): start it, or correct --coord"); n != i+1 {
			t.Errorf("%d warnings that say why, want %d:\n%s", n, i+1, d.log)
		}
		c.Start(0)
		d.log.has(t, "INFO", "renewed the coordinator session again")
	}
}
