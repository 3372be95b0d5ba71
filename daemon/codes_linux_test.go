package daemon_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/internal/must"
)

// refused asks until a request is refused with a code.
func (r *running) refused(code string, args ...any) {
	r.t.Helper()
	must.Soon(r.t, func() bool {
		_, err := r.do(args...)
		return err != nil && strings.Contains(err.Error(), "code="+code)
	}, "%v gets %s", args, code)
}

// A coordinator that takes connections and answers none.
func TestAStartWithoutAnAnswerIsSeen(t *testing.T) {
	t.Parallel()
	silent := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer silent.Close() // it has nothing to lose
	c := config(dir(t))
	c.Cluster.Coord = "etcd://" + silent.Addr().String() + "/x"
	r := launch(t, c)
	r.untilServed()
	r.tells("starting", condition.Starting.Do(), false)
	r.tells("coordinator-gone", condition.CoordinatorGone.Do(), true)
	r.says("it accepts connections and answers nothing: it is stopped or hangs")
	if reply, body := get(t, r.web(), "/livez"); reply.StatusCode != 200 || body != "ok\n" {
		t.Errorf("/livez: %s %q", reply.Status, body)
	}
	if reply, body := get(t, r.web(), "/readyz", "Accept", "application/json"); reply.StatusCode != 503 || !strings.Contains(body, `"code":"`) {
		t.Errorf("/readyz as JSON: %s %s", reply.Status, body)
	}
}

// The coordinator is away for longer than the grant lasts, which is for long enough that half of it
// is worth a line.
func TestAnOutageToTheEndOfTheGrantIsSeen(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, etcdtest.Options{})
	c := config(dir(t))
	c.Cluster.Coord = etcd.URL("x")
	c.Grant.Window, c.Grant.Publish = 11*time.Second, 200*time.Millisecond
	r := start(t, c)
	r.until("a grant that lasts longer than a call", func(info map[string]string) bool {
		ahead, err := strconv.Atoi(info["marks_ahead_ms"])
		return err == nil && ahead > 5_000
	})
	etcd.StopAll()
	r.next() // it asks the coordinator
	r.tells("coordinator-gone", condition.CoordinatorGone.Do(), true)
	r.says("nothing listens there (connection refused)")
	r.shows("half-over")
	r.tells("grant-ended", condition.GrantEnded.Do(), true)
	r.says("issuing has stopped")
	etcd.StartAll()
	r.shows("issuing")
}

// What etcd refuses while a daemon runs is said as that, and is over once it is set right, by a new
// password after SIGHUP or at etcd. The token of before holds until a restart.
func TestALoginThatIsRefusedIsSeen(t *testing.T) {
	t.Parallel()
	const password, changed = "geheim", "anders"
	etcd := etcdtest.Start(t, etcdtest.Options{RootPassword: password})
	etcd.AddUser("ours", password, "/x/")
	c := config(dir(t))
	c.Cluster.Coord, c.Cluster.User, c.Cluster.PasswordFile = etcd.URL("x"), "ours", filepath.Join(t.TempDir(), "password")
	write := func(password string) { must.Do(t, os.WriteFile(c.Cluster.PasswordFile, []byte(password), 0o600)) }
	write(password)
	hangup := make(chan os.Signal, 1)
	c.Grant.Publish, c.Reload = 100*time.Millisecond, hangup
	r := start(t, c)
	said := func(code condition.Code, why string) {
		t.Helper()
		r.until("the reason", func(info map[string]string) bool {
			return info["condition_code"] == string(code) && strings.Contains(info["condition"], why)
		})
	}
	well := func() {
		t.Helper()
		r.until("no condition", func(info map[string]string) bool { return info["condition_code"] == "" })
	}
	first := r.info()["ceiling"]
	r.until("the second grant, which reaches further", func(info map[string]string) bool { return info["ceiling"] != first })
	must.Get(etcd.Client().UserChangePassword(t.Context(), "ours", changed))(t)
	etcd.Stop(0)
	etcd.Start(0)
	r.next()
	r.tells("login-refused", condition.LoginRefused.Do(), true)
	said("login-refused", `there is no user "ours", or the password is wrong`)
	write(changed)
	hangup <- syscall.SIGHUP
	well()
	must.Get(etcd.Client().UserRevokeRole(t.Context(), "ours", "ours"))(t)
	r.next()
	r.tells("access-denied", condition.AccessDenied.Do(), true)
	said("access-denied", `the user "ours" may not read and write all keys that begin with /x/`)
	must.Get(etcd.Client().UserGrantRole(t.Context(), "ours", "ours"))(t)
	well()
}

// An operator takes the claim away, and raises all marks: by nothing, so that another worker ID
// serves in the tick of the connection's last ID, and then by far.
func TestWhatAnOperatorDoesIsSeen(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	c := config(dir(t))
	c.Cluster.Coord = etcd.URL("x")
	c.IDs.Layout = "time=33@1s,worker=10,sequence=12;epoch=2026-01-01"
	c.Grant.Publish = 100 * time.Millisecond
	c.Waiting.MaxBlock = 50 * time.Millisecond
	r := start(t, c)
	by := operator(t, c.Cluster.Coord)
	must.Get(by.Inspect(t.Context()))(t)
	members, err := by.Members(t.Context())
	if err != nil || len(members) != 1 {
		t.Fatal(members, err)
	}
	must.Do(t, by.Clear(t.Context(), members[0].Claim))
	until := time.Now().Add(time.Minute)
	asked := func(code condition.Code) { // a daemon that nobody asks publishes seldom
		for !r.codes()[code] && time.Now().Before(until) {
			_, _ = r.do("NEXT")
		}
		r.shows(code)
	}
	asked("claim-lost")
	r.until("a claim", func(info map[string]string) bool { return info["claimed"] == "true" })
	for !r.codes()["order"] {
		if time.Now().After(until) {
			t.Fatalf("no request waits for its order; the log:\n%s", r.log)
		}
		_, _ = r.do("NEXT")
		must.Get(by.Raise(t.Context(), 1))(t)
		before := r.info()["worker_id"]
		for r.info()["worker_id"] == before && time.Now().Before(until) {
			_, _ = r.do("NEXT")
		}
		_, _ = r.do("NEXT")
	}
	r.shows("order")
	r.shows("marks-raised")
	must.Get(by.Raise(t.Context(), layoutOf(t, c).TickAt(time.Now().Add(time.Hour).UnixNano())))(t)
	asked("floor-ahead")
	r.tells("floor-ahead", condition.FloorAhead.Do(), true)
}

// slowClaims has no claim answered until it is released.
type slowClaims struct {
	coord.Coordinator
	released <-chan struct{}
}

func (c slowClaims) Claim(ctx context.Context, r coord.Request) (coord.Claim, error) {
	<-c.released
	return c.Coordinator.Claim(ctx, r)
}

// A daemon that has joined its cluster has heard from the coordinator, while its claim takes long.
func TestAClaimThatTakesLongIsSeen(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	c, released := config(dir(t)), make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	defer release()
	c.Cluster.Coord = etcd.URL("x")
	r := launchBy(t, c, func(ctx context.Context, c daemon.Config) error {
		d := must.Get(daemon.New(c))(t)
		d.Decorate(func(s resp.Source) resp.Source { return s }, func(c coord.Coordinator) coord.Coordinator { return slowClaims{c, released} })
		return d.Run(ctx)
	})
	r.untilServed()
	r.says("joined the cluster")
	r.tells("no-worker-id", condition.NoWorker.Do(), false) // the log tells how a claim ends
	release()
	r.UntilReady()
	r.next()
}

// The clock is an hour behind, the ticks of before are used up, and no other worker ID is to be
// had: nothing can be issued, which is not ready.
func TestAClockFarBehindWithoutACoordinatorIsSeen(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	c, clock := config(dir(t)), &clocktest.Stepped{}
	c.Cluster.Coord, c.Clock, c.IDs.Layout = etcd.URL("x"), clock, "time=31@1s,worker=10,sequence=4;epoch=2026-01-01"
	c.Grant.Publish, c.Waiting.MaxBlock = 100*time.Millisecond, 2*time.Second
	r := start(t, c)
	first := r.info()["ceiling"]
	r.until("the second grant, which reaches further", func(info map[string]string) bool { return info["ceiling"] != first })
	etcd.StopAll()
	r.next()
	r.tells("coordinator-gone", condition.CoordinatorGone.Do(), true)
	clock.By.Add(-int64(time.Hour))
	r.refused("clock-behind", "NEXT") // once the ring is used up
	r.tells("clock-behind", condition.ClockBehind.Do(), true)
	r.says("issuing has stopped")
	if got := r.info()["state"]; got != "stopped" {
		t.Errorf("INFO says %s", got)
	}
	clock.By.Store(0)
	etcd.StartAll()
	r.shows("issuing")
	r.until("ready", func(info map[string]string) bool { return info["state"] == "ready" })
}

func TestStepsOfTheClockAreSeen(t *testing.T) {
	t.Parallel()
	clock := &clocktest.Stepped{}
	c := config(dir(t))
	c.Clock = clock
	c.Time.ForwardHold = time.Second
	r := start(t, c)
	r.next()
	shown := r.codes()
	for _, e := range condition.Table {
		if shown[e.Code] {
			t.Errorf("%s is shown of a daemon that is well", e.Code)
		}
	}
	clock.By.Add(-int64(10 * time.Second))
	r.shows("clock-behind")
	clock.By.Add(int64(10 * time.Second))
	r.shows("clock-back")
	clock.By.Add(int64(time.Minute))
	r.shows("clock-held")
	r.shows("clock-followed")
}

// The layout's last tick passes while the daemon issues: nothing is wrong with the coordinator.
func TestTheEndOfTheLayoutIsSeen(t *testing.T) {
	t.Parallel()
	c, clock := config(dir(t)), &clocktest.Stepped{}
	clock.By.Store(int64(time.Until(layoutOf(t, c).End()) - 3*time.Second))
	c.Clock, c.Waiting.MaxBlock = clock, 50*time.Millisecond
	r := start(t, c)
	r.next()
	r.tells("time-outside-layout", condition.OutsideLayout.Do(), true)
	r.refused("time-outside-layout", "NEXT")
	if strings.Contains(r.log.String(), "bring the coordinator back") {
		t.Errorf("the log blames the coordinator:\n%s", r.log)
	}
}

// Whose session expires while nobody asks claims again, and does not wait until half of its grant
// is left: the others tell by the claim that it lives.
func TestASessionThatExpiresUnaskedIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.Start(t, etcdtest.Options{})
	c := config(dir(t))
	c.Cluster.Coord, c.Grant.Publish = etcd.URL("x"), 100*time.Millisecond
	r := start(t, c)
	must.Soon(t, func() bool { return r.info()["ceiling"] != "0" }, "a grant; the log:\n%s", r.log)
	before := r.info()["claim"]
	leases := must.Get(etcd.Client().Leases(t.Context()))(t)
	for _, lease := range leases.Leases {
		must.Get(etcd.Client().Revoke(t.Context(), lease.ID))(t)
	}
	must.Soon(t, func() bool {
		now := r.info()
		return now["claimed"] == "true" && now["claim"] != before
	}, "another claim; the log:\n%s", r.log)
}
