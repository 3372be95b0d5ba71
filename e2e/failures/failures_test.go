//go:build linux

package failures

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/secure"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/isolated"
	"github.com/flakeward/flakeward/internal/must"
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(isolated.Main(func() int { return zktest.Main(m) }))
}

func TestThePageHasEachText(t *testing.T) {
	page := string(must.Get(os.ReadFile("../../docs/operations.md"))(t))
	for _, text := range []string{refused, hangs + "etcd", notIt + "etcd", noTLS, wantsTLS, authority, otherName, slow, leaderless, noQuorum, learner, full, unnamed} {
		if !strings.Contains(page, text) {
			t.Errorf("docs/operations.md does not have %q", text)
		}
	}
}

// What a daemon gives its requests: package lifecycle a join, package grant an extension.
const (
	joinTimeout   = 2 * time.Second
	extendTimeout = 3 * time.Second
)

// The texts of the table, for etcd and ZooKeeper alike where there is no name in them.
const (
	refused    = "nothing listens there (connection refused): start it, or correct --coord"
	hangs      = "it accepts connections and answers nothing: it is stopped or hangs, or what listens there is not "
	notIt      = "what listens there is not "
	noTLS      = "it does not speak TLS on that port: leave out --coord-ca and --coord-cert"
	wantsTLS   = "it expects TLS: give --coord-ca"
	authority  = "its certificate is not signed by an authority that is trusted here: give the right one with --coord-ca"
	otherName  = "its certificate is for another name: name the server in --coord as its certificate does"
	slow       = "finished no request in time: its disk hangs or is slow, or it is overloaded"
	leaderless = "it has no leader: most members of its cluster are stopped or cannot reach each other"
	noQuorum   = "it has no quorum: most members of its ensemble are stopped or cannot reach each other"
	learner    = "it is a learner, which serves no requests: promote it, or name a voting member in --coord"
	full       = "its space quota is used up: compact, defragment and disarm its alarm"
	unnamed    = "its name cannot be resolved: correct --coord, or the name service"
)

// asker is one daemon, or one operator's command.
type asker struct {
	t     *testing.T
	coord coord.Coordinator
	claim coord.Claim
}

func config(url string, files secure.TLS) connect.Config {
	return connect.Config{URL: url, TLS: files, Identity: coord.Identity{Host: "h", Incarnation: "I"}}
}

var layout = coord.Layout{Text: "layout", Workers: 8, Window: 600}

func open(t *testing.T, url string, files secure.TLS) *asker {
	t.Helper()
	a := &asker{t: t, coord: must.Get(connect.Open(t.Context(), config(url, files)))(t)}
	t.Cleanup(func() { _ = a.coord.Close() }) // the servers may be gone
	return a
}

func (a *asker) join() error {
	ctx, cancel := context.WithTimeout(a.t.Context(), joinTimeout)
	defer cancel()
	_, err := coordtest.CreateAndJoin(ctx, a.coord, layout)
	return err
}

// begin has a daemon run: it has joined and holds a worker ID.
func begin(t *testing.T, url string) *asker {
	t.Helper()
	a := open(t, url, secure.TLS{})
	must.Eventually(t, "join", a.join)
	must.Eventually(t, "claim", func() (err error) {
		a.claim, err = a.coord.Claim(t.Context(), coord.Request{Worker: coord.AnyWorker, Latest: 1 << 40})
		return err
	})
	must.Eventually(t, "extend", a.extend)
	return a
}

func (a *asker) extend() error {
	ctx, cancel := context.WithTimeout(a.t.Context(), extendTimeout)
	defer cancel()
	return a.claim.Extend(ctx, coord.Progress{Ceiling: 10})
}

// takes has a daemon that starts join and take a worker ID.
func (a *asker) takes() error {
	if err := a.join(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.t.Context(), extendTimeout)
	defer cancel()
	_, err := a.coord.Claim(ctx, coord.Request{Worker: coord.AnyWorker, Latest: 1 << 40})
	return err
}

// shown is what `status --cluster` asks.
func shown(t *testing.T, url string, files secure.TLS) error {
	t.Helper()
	o := must.Get(connect.Operate(config(url, files)))(t)
	defer o.Close() // the servers may be gone
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := o.Inspect(ctx)
	if err == nil {
		_, err = o.Members(ctx)
	}
	return err
}

// free is an address on loopback at which nothing listens.
func free(t *testing.T) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

// says waits until an error has the text, and returns it without what was asked for: what is the
// same for all who ask.
func says(t *testing.T, who, want string, try func() error) string {
	t.Helper()
	var said string
	must.Eventually(t, who, func() error {
		err := try()
		if err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("it says %w; want %q", err, want)
		}
		said = err.Error()[strings.Index(err.Error(), want):]
		return nil
	})
	t.Logf("%s: %s", who, said)
	return said
}

// same wants the same text from all who ask.
func same(t *testing.T, said ...string) {
	t.Helper()
	for _, other := range said[1:] {
		if other != said[0] {
			t.Errorf("one says %q, another %q", said[0], other)
		}
	}
}

// failure is a row of the table for servers that served before.
type failure struct {
	want string
	// start starts servers, and returns the coordinator's URL and what breaks them.
	start func(t *testing.T) (url string, fail func())
	reads bool // reads are served on, so status --cluster has nothing to say
}

func urlOf(scheme string, addresses ...string) string {
	return scheme + "://" + strings.Join(addresses, ",") + "/x"
}

// A coordinator fails that has served: a daemon that runs, one that starts and an operator's
// command say the same.
func TestAServerThatServedFails(t *testing.T) {
	ofEtcd := func(o etcdtest.Options, fail func(e *etcdtest.Cluster)) func(t *testing.T) (string, func()) {
		return func(t *testing.T) (string, func()) {
			e := etcdtest.Start(t, o)
			return e.URL("x"), func() { fail(e) }
		}
	}
	killed := func(members ...int) func(*etcdtest.Cluster) {
		return func(e *etcdtest.Cluster) {
			for _, i := range members {
				e.Stop(i)
			}
		}
	}
	stopped := func(members ...int) func(*etcdtest.Cluster) {
		return func(e *etcdtest.Cluster) {
			for _, i := range members {
				e.Hang(i)
			}
		}
	}
	ofZk := func(o zktest.Options, fail func(e *zktest.Ensemble)) func(t *testing.T) (string, func()) {
		return func(t *testing.T) (string, func()) {
			e := zktest.Start(t, o)
			return urlOf("zk", e.Addresses()...), func() { fail(e) }
		}
	}
	for name, f := range map[string]failure{
		"etcd 3.4 stopped":                {want: hangs + "etcd", start: ofEtcd(etcdtest.Options{Release: "3.4"}, stopped(0))},
		"etcd 3.4, two of three killed":   {want: leaderless, start: ofEtcd(etcdtest.Options{Release: "3.4", Members: 3}, killed(0, 1))},
		"etcd killed":                     {want: refused, start: ofEtcd(etcdtest.Options{}, killed(0))},
		"etcd stopped":                    {want: hangs + "etcd", start: ofEtcd(etcdtest.Options{}, stopped(0))},
		"etcd, two of three killed":       {want: leaderless, start: ofEtcd(etcdtest.Options{Members: 3}, killed(0, 1))},
		"etcd, two of three stopped":      {want: leaderless, start: ofEtcd(etcdtest.Options{Members: 3}, stopped(0, 1))},
		"etcd is full":                    {want: full, reads: true, start: ofEtcd(etcdtest.Options{Flags: []string{"--quota-backend-bytes", "262144"}}, fill)},
		"etcd's disk hangs":               {want: slow, start: etcdOnADiskThatHangs},
		"ZooKeeper killed":                {want: refused, start: ofZk(zktest.Options{}, func(e *zktest.Ensemble) { e.Kill() })},
		"ZooKeeper stopped":               {want: hangs + "ZooKeeper", start: ofZk(zktest.Options{}, func(e *zktest.Ensemble) { e.Pause() })},
		"ZooKeeper, two of three killed":  {want: noQuorum, start: ofZk(zktest.Options{Members: 3}, func(e *zktest.Ensemble) { e.Kill(0, 1) })},
		"ZooKeeper, two of three stopped": {want: noQuorum, start: ofZk(zktest.Options{Members: 3}, func(e *zktest.Ensemble) { e.Pause(0, 1) })},
		"ZooKeeper's disk hangs":          {want: slow, start: zookeeperOnADiskThatHangs},
		"ZooKeeper's disk is full":        {want: refused, start: zookeeperOnADiskThatIsFull},
		"etcd's disk is full":             {want: refused, start: etcdOnADiskThatIsFull},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, fail := f.start(t)
			running := begin(t, url)
			fail()
			said := []string{says(t, "a daemon that runs", f.want, running.extend)}
			if starting := open(t, url, secure.TLS{}); f.reads {
				said = append(said, says(t, "a daemon that starts", f.want, starting.takes))
				must.Do(t, shown(t, url, secure.TLS{}))
			} else {
				said = append(said, says(t, "a daemon that starts", f.want, starting.join),
					says(t, "status --cluster", f.want, func() error { return shown(t, url, secure.TLS{}) }))
			}
			same(t, said...)
		})
	}
}

// fill writes until the quota is used up.
func fill(e *etcdtest.Cluster) {
	e.Do("", func(ctx context.Context, c *clientv3.Client) (err error) {
		junk := strings.Repeat("x", 64<<10)
		for range 1000 {
			if _, err = c.Put(ctx, "junk", junk); errors.Is(err, rpctypes.ErrNoSpace) {
				return nil
			} else if err != nil {
				return err
			}
		}
		return errors.New("the quota is not used up")
	})
}

// One of three members hangs or may not vote: requests are served on, and nothing is said for good.
func TestOneOfThreeFails(t *testing.T) {
	stopped := func(after int) func(t *testing.T) (string, func()) {
		return func(t *testing.T) (string, func()) {
			e := etcdtest.Start(t, etcdtest.Options{Members: 3})
			return e.URL("x"), func() { e.Hang((e.Leader() + after) % 3) }
		}
	}
	disk := func(after int) func(t *testing.T) (string, func()) {
		return func(t *testing.T) (string, func()) {
			var dirs []string
			var hangs []func()
			for range 3 {
				dir, hang := hanging(t)
				dirs, hangs = append(dirs, dir), append(hangs, hang)
			}
			e := etcdOn(t, dirs...)
			return e.URL("x"), func() { hangs[(e.Leader()+after)%3]() }
		}
	}
	for name, start := range map[string]func(t *testing.T) (string, func()){
		"etcd's leader is stopped":          stopped(0),
		"etcd's follower is stopped":        stopped(1),
		"the disk of etcd's leader hangs":   disk(0),
		"the disk of etcd's follower hangs": disk(1),
		"ZooKeeper's leader is stopped": func(t *testing.T) (string, func()) {
			e := zktest.Start(t, zktest.Options{Members: 3})
			return urlOf("zk", e.Addresses()...), func() { e.Pause(e.Leader()) }
		},
		"ZooKeeper's follower is stopped": func(t *testing.T) (string, func()) {
			e := zktest.Start(t, zktest.Options{Members: 3})
			return urlOf("zk", e.Addresses()...), func() { e.Pause((e.Leader() + 1) % 3) }
		},
		"a ZooKeeper observer is the only one that is named": func(t *testing.T) (string, func()) {
			e := zktest.Start(t, zktest.Options{Members: 4, Observers: 1})
			return urlOf("zk", e.Addresses()[3]), func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, fail := start(t)
			running := begin(t, url)
			fail()
			for range 4 { // whichever member is asked
				must.Eventually(t, "a daemon that runs is granted more", running.extend)
			}
			must.Eventually(t, "a daemon that starts", open(t, url, secure.TLS{}).takes)
		})
	}
}

// A learner among the members that are named refuses all: the next one is asked at once, so no
// request fails. Alone it is said to be one.
func TestALearnerAmongTheMembers(t *testing.T) {
	for _, release := range []string{"3.4", "3.7"} {
		t.Run(release, func(t *testing.T) { t.Parallel(); learnerAmong(t, release) })
	}
}

func learnerAmong(t *testing.T, release string) {
	t.Helper()
	e := etcdtest.Start(t, etcdtest.Options{Release: release})
	voter := e.Endpoint(0)
	begin(t, urlOf("etcd", voter))
	alone := learnerOf(t, e, release)
	both := urlOf("etcd", alone, voter)
	running := begin(t, both)
	for range 20 {
		if err := running.extend(); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		must.Eventually(t, "join", open(t, both, secure.TLS{}).join) // connections to both come up first
	}
	url := urlOf("etcd", alone)
	same(t, says(t, "a daemon that starts", learner, open(t, url, secure.TLS{}).join),
		says(t, "status --cluster", learner, func() error { return shown(t, url, secure.TLS{}) }))
}
