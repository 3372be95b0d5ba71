package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	claim, err := m.Claim(t.Context(), coord.Request{Worker: coord.AnyWorker, Latest: 1 << 40})
	for all := new(coord.ExhaustedError); errors.As(err, &all) && t.Context().Err() == nil; {
		// A server that is busy has not ended a session yet whose coordinator was closed.
		claim, err = m.Claim(t.Context(), coord.Request{Worker: coord.AnyWorker, Latest: 1 << 40})
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
