package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// narrow is a layout of few worker IDs, so that many hosts have had each.
const narrow = "time=41@1ms,datacenter=3,worker=2,sequence=16;epoch=2026-01-01T00:00:00Z"

// onRealCoordinators runs a test with a cluster's URL on each kind of coordinator.
func onRealCoordinators(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("dir", func(t *testing.T) { test(t, "dir:"+filepath.Join(t.TempDir(), "coord")) })
	t.Run("etcd", func(t *testing.T) {
		test(t, etcdtest.Start(t, etcdtest.Options{}).URL("/flakeward"))
	})
	t.Run("zookeeper", func(t *testing.T) {
		servers := zktest.Shared(t)
		test(t, "zk://"+strings.Join(servers.Addresses(), ",")+servers.Chroot()+"/flakeward")
	})
}

// member is what a daemon has of a coordinator.
type member struct {
	coord.Coordinator
	identity coord.Identity
}

func join(t *testing.T, url, host string) *member {
	t.Helper()
	m := &member{identity: coord.Identity{Host: host, PID: 1000 + len(host), Incarnation: fmt.Sprintf("I%016x", rand.Uint64()), Version: "v-of-" + host}}
	m.Coordinator = must.Get(connect.Open(t.Context(), connect.Config{URL: url, Identity: m.identity}))(t)
	t.Cleanup(func() { _ = m.Close() })
	coordtest.Join(t, m.Coordinator, coord.Layout{Text: narrow + ";datacenter=5", Workers: 4, Window: 600_000})
	return m
}

// hold claims a worker ID and has it granted span more than its floor.
func (m *member) hold(t *testing.T, from generator.Tick, span generator.Tick) (coord.Claim, generator.Tick) {
	t.Helper()
	claim, err := coordtest.Claim(t.Context(), m, coord.Request{Worker: coord.AnyWorker, Latest: 1 << 40})
	for all := new(coord.ExhaustedError); errors.As(err, &all) && t.Context().Err() == nil; {
		// A server that is busy has not ended a session yet whose coordinator was closed.
		claim, err = coordtest.Claim(t.Context(), m, coord.Request{Worker: coord.AnyWorker, Latest: 1 << 40})
	}
	must.Do(t, err)
	ceiling := max(claim.Floor(), from) + span
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: ceiling}))
	return claim, ceiling
}

func narrowLayout(t *testing.T) *generator.Layout {
	t.Helper()
	return must.Get(generator.ParseLayout(narrow))(t)
}

// Each ID of daemons that followed one another on the same worker IDs has its own
// one named.
func TestExplainOverManyClaims(t *testing.T) {
	onRealCoordinators(t, func(t *testing.T, url string) {
		layout := narrowLayout(t)
		begin := layout.TickAt(time.Now().UnixNano()) - 100_000
		type owner struct {
			coord.Identity
			claim string
		}
		owners := make(map[string]owner)
		var ids strings.Builder
		for generation := range 5 {
			for host := range 3 {
				m := join(t, url, fmt.Sprintf("host-%d-%d", generation, host))
				claim, ceiling := m.hold(t, begin, 1000)
				issue := func(tick generator.Tick) {
					id, err := layout.Compose(generator.Parts{Tick: tick, Datacenter: 5, Worker: uint64(claim.Worker()), Sequence: rand.Uint64N(1 << 16)})
					must.Do(t, err)
					text := strconv.FormatInt(id, 10)
					owners[text] = owner{m.identity, claim.Name()}
					ids.WriteString(text + "\n")
				}
				// The first tick, the last one, and some between.
				last := ceiling
				if host == 1 {
					last -= 400
				}
				issue(claim.Floor() + 1)
				for range 10 {
					issue(claim.Floor() + 1 + rand.N(last-claim.Floor()))
				}
				issue(last)
				// One leaves as it should, the others do not.
				if host == 1 {
					must.Do(t, claim.Release(t.Context(), last))
				}
				coordtest.Close(t, m)
			}
		}

		out, complaints, err := command(t, ids.String(), "explain", "--coord", url, "--json", "-")
		if err != nil || complaints != "" {
			t.Fatalf("%v, %q\n%s", err, complaints, out)
		}
		n := 0
		for line := range strings.Lines(out) {
			var got struct{ ID, Verdict, Host, Incarnation, Claim, Version string }
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			want := owners[got.ID]
			if got.Verdict != "held" || got.Host != want.Host || got.Incarnation != want.Incarnation || got.Claim != want.claim || got.Version != want.Version {
				t.Errorf("%s\nwas of %+v", line, want)
			}
			n++
		}
		if n != len(owners) || n < 100 {
			t.Errorf("%d of %d IDs were explained", n, len(owners))
		}

		foreign := must.Get(layout.Compose(generator.Parts{Tick: begin, Datacenter: 4}))(t)
		out, _, err = command(t, "", "explain", "--coord", url, strconv.FormatInt(foreign, 10))
		checkError(t, err, "no holder is known", ExitUnknown)
		if !strings.Contains(out, "this cluster is datacenter 5") {
			t.Errorf("printed\n%s", out)
		}
	})
}

// seen is what status --cluster and marks tell.
type seen struct {
	Cluster string
	Raised  *string
	Members []struct {
		Worker, PID                                       int
		Host, Incarnation, Version, Claim, Opening, State string
		Since                                             *time.Time
		Ceiling                                           generator.Tick `json:"ceiling_tick"`
		Left                                              float64        `json:"ceiling_left_seconds"`
	}
	Marks []struct {
		Worker      int
		Ceiling     generator.Tick `json:"ceiling_tick"`
		Claim, Host string
	}
}

func look(t *testing.T, args ...string) seen {
	t.Helper()
	out, complaints, err := command(t, "", append(args, "--json")...)
	if err != nil || complaints != "" {
		t.Fatalf("%q: %v, %q", args, err, complaints)
	}
	var found seen
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return found
}

func TestOperatorsOnRealCoordinators(t *testing.T) {
	onRealCoordinators(t, func(t *testing.T, url string) {
		_, _, err := command(t, "", "status", "--cluster", "--coord", url)
		checkError(t, err, coord.ErrNoCluster.Error(), ExitFailed)

		layout := narrowLayout(t)
		now := layout.TickAt(time.Now().UnixNano())
		first, second := join(t, url, "first"), join(t, url, "second")
		one, ceiling := first.hold(t, now, 600_000)
		two, _ := second.hold(t, now-1_000_000, 10_000)

		found := look(t, "status", "--cluster", "--coord", url)
		if len(found.Members) != 2 || found.Cluster == "" || found.Raised != nil {
			t.Fatalf("found %+v", found)
		}
		for _, m := range found.Members {
			want, claim, state, left := first.identity, one, "granted", 600.
			if m.Host == "second" {
				want, claim, state, left = second.identity, two, "stopped", -990.
			}
			if m.Host != want.Host || m.PID != want.PID || m.Incarnation != want.Incarnation || m.Version != want.Version || m.Worker != claim.Worker() ||
				m.Claim != claim.Name() || m.Opening != claim.Opening() || m.State != state || m.Since == nil || m.Left < left-300 || m.Left > left+1 {
				t.Errorf("the member %+v is %+v", m, want)
			}
		}

		t.Run("claims clear", func(t *testing.T) {
			out, _, err := command(t, "", "claims", "clear", two.Name(), "--yes", "--coord", url)
			if err != nil || !strings.Contains(out, "host second") {
				t.Errorf("%v\n%s", err, out)
			}
			if found := look(t, "status", "--cluster", "--coord", url); len(found.Members) != 1 || found.Members[0].Host != "first" {
				t.Errorf("the members are %+v", found.Members)
			}
			cleared := two.Name()
			_, _, err = command(t, "", "claims", "clear", cleared, "--yes", "--coord", url)
			checkError(t, err, "there is no claim of that name", ExitFailed)
			must.Do(t, two.Extend(t.Context(), coord.Progress{Ceiling: now + 700_000}))
			if found := look(t, "status", "--cluster", "--coord", url); len(found.Members) != 2 || found.Members[1].Claim != two.Name() || two.Name() == cleared {
				t.Errorf("the members are %+v, and the daemon whose claim was cleared has %s", found.Members, two.Name())
			}
		})

		t.Run("cluster raise", func(t *testing.T) {
			_, _, err := command(t, "y\n", "cluster", "raise", "--coord", url)
			checkError(t, err, "--yes", ExitUsage)
			if found := look(t, "cluster", "marks", "--coord", url); len(found.Marks) != 2 || found.Raised != nil {
				t.Errorf("the marks are %+v", found)
			}
			before := time.Now()
			out, _, err := command(t, "", "cluster", "raise", "--yes", "--begin", "20m", "--coord", url)
			if err != nil || !strings.Contains(out, "raised: ") {
				t.Fatalf("%v\n%s", err, out)
			}
			raised := layout.TickAt(before.Add(20 * time.Minute).UnixNano())
			found := look(t, "cluster", "marks", "--coord", url)
			if len(found.Marks) != 2 || found.Raised == nil {
				t.Errorf("the marks are %+v", found)
			}
			for _, m := range found.Marks {
				if m.Ceiling < raised {
					t.Errorf("the ceiling of worker ID %d is %d, want %d or more", m.Worker, m.Ceiling, raised)
				}
			}
			if err := one.Extend(t.Context(), coord.Progress{Ceiling: ceiling + 1000}); !errors.Is(err, coord.ErrLost) {
				t.Errorf("a claim from before is extended: %v", err)
			}
			claim, err := coordtest.Claim(t.Context(), join(t, url, "third"), coord.Request{Worker: coord.AnyWorker, Latest: 1 << 40})
			if err != nil || claim.Floor() < raised || claim.Continues() {
				t.Errorf("the next claim: %v, %v", claim, err)
			}
		})
	})
}

func TestOperatorsAccessIsTheDaemons(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	must.Do(t, os.WriteFile(file, []byte("geheim\n"), 0o600))
	servers := etcdtest.Start(t, etcdtest.Options{RootPassword: "root's"})
	servers.AddUser("operator", "geheim", "/flakeward/")
	url := servers.URL("/flakeward")
	for _, c := range []struct {
		name, args string
		err        string
		code       int
	}{
		{"the right password", "--coord-user operator --coord-password-file " + file, coord.ErrNoCluster.Error(), ExitFailed},
		{"nobody", "", "coordinator " + url, ExitFailed},
		{"no password", "--coord-user operator", "a user needs a password", ExitUsage},
		{"no such file", "--coord-user operator --coord-password-file /nowhere", "/nowhere cannot be used", ExitUsage},
		{"no such authority", "--coord-ca /nowhere", "/nowhere", ExitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, complaints, err := command(t, "", append([]string{"status", "--cluster", "--coord", url}, strings.Fields(c.args)...)...)
			checkError(t, err, c.err, c.code)
			if strings.Contains(fmt.Sprint(err, complaints), "geheim") {
				t.Errorf("the password is shown: %v, %s", err, complaints)
			}
		})
	}
}
