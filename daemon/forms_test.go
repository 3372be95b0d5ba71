package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/tenant"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/must"
)

const (
	firstKey  = "k1 000102030405060708090a0b0c0d0e0f\n"
	secondKey = "k2 101112131415161718191a1b1c1d1e1f\n"
)

// decoded is the integer of an ID in another form.
func (r *running) decoded(words ...any) int64 {
	r.t.Helper()
	fields, err := r.client.Do(r.t.Context(), append([]any{"DECODE"}, words...)...).Result()
	if err != nil {
		r.t.Fatalf("DECODE %v: %v", words, err)
	}
	return must.Get(strconv.ParseInt(fields.(map[any]any)["id"].(string), 10, 64))(r.t)
}

func (r *running) text(words ...any) string {
	r.t.Helper()
	text, err := r.client.Do(r.t.Context(), words...).Text()
	if err != nil {
		r.t.Fatalf("%v: %v", words, err)
	}
	return text
}

// The daemon's form holds for connections that ask for none. Each form is had back. Keys are read
// again at SIGHUP: a new one writes, and the old one still reads.
func TestForms(t *testing.T) {
	c := config(dir(t))
	reload := make(chan os.Signal)
	c.Reload = reload
	c.IDs.Form, c.IDs.PublicKeys = "string", filepath.Join(t.TempDir(), "keys")
	must.Do(t, os.WriteFile(c.IDs.PublicKeys, []byte(firstKey), 0o600))
	r := start(t, c)
	last := must.Get(strconv.ParseInt(r.text("NEXT"), 10, 64))(t)
	for _, name := range form.Names() {
		reply, err := r.do("NEXT", "AS", name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		id := r.decoded(fmt.Sprint(reply), "AS", name)
		if id <= last {
			t.Errorf("%s %v is the ID %d, after %d", name, reply, id, last)
		}
		last = id
	}
	if uuid := r.text("NEXT", "AS", "uuid"); r.decoded(uuid) <= last {
		t.Errorf("the UUID %s is not decoded as it is", uuid)
	}
	old := r.text("NEXT", "AS", "public")
	must.Do(t, os.WriteFile(c.IDs.PublicKeys, []byte(secondKey+firstKey), 0o600))
	reload <- nil
	reload <- nil // taken once the first was done
	fresh := r.text("NEXT", "AS", "public")
	if !strings.HasPrefix(old, "k1") || !strings.HasPrefix(fresh, "k2") || r.decoded(old, "AS", "public") >= r.decoded(fresh, "AS", "public") {
		t.Errorf("the public IDs %q and %q", old, fresh)
	}
	must.Do(t, os.WriteFile(c.IDs.PublicKeys, []byte("nothing"), 0o600))
	reload <- nil
	reload <- nil
	if got := r.text("NEXT", "AS", "public"); !strings.HasPrefix(got, "k2") || !strings.Contains(r.log.String(), "the keys of public IDs were not read again") {
		t.Errorf("with a file that has no keys: %q; the log:\n%s", got, r.log)
	}
	want := r.decoded(fresh, "AS", "public")
	must.Do(t, os.WriteFile(c.IDs.PublicKeys, []byte("k2"+firstKey[2:]+"k3"+secondKey[2:]), 0o600))
	reload <- nil
	reload <- nil
	if got := r.decoded(fresh, "AS", "public"); got != want || !strings.Contains(r.log.String(), "the ID k2 is that of another key than before") {
		t.Errorf("with another key under its ID, %s is read as %d, not %d; the log:\n%s", fresh, got, want, r.log)
	}
}

// UUIDs name the cluster, which a start without its coordinator knows from its journal.
func TestUUIDsOfAColdStart(t *testing.T) {
	etcd := etcdtest.Start(t, etcdtest.Options{})
	c := config(dir(t))
	c.Cluster.Coord = etcd.URL("test")
	r := start(t, c)
	before := r.text("NEXT", "AS", "uuid")
	etcd.Stop(0)
	r.Stop()

	cold := start(t, c)
	after := cold.text("NEXT", "AS", "uuid")
	coder := form.New(layoutOf(t, c), cold.info()["cluster_id"], nil)
	for _, uuid := range []string{before, after} {
		must.Get(coder.Parse(form.UUID, uuid))(t)
	}
	if before >= after {
		t.Errorf("%s came before %s", before, after)
	}
}

func TestAFormThatCannotBeIsRefusedAtTheStart(t *testing.T) {
	for want, change := range map[string]func(*daemon.Config){
		`--form: there is no form "strin": did you mean string?`: func(c *daemon.Config) { c.IDs.Form = "strin" },
		"--form: the form public needs a key":                    func(c *daemon.Config) { c.IDs.Form = "public" },
		`tenant "a": the form public needs a key`:                func(c *daemon.Config) { c.IDs.Tenants = []tenant.Tenant{{Name: "a", Form: "public"}} },
		"before 1970": func(c *daemon.Config) {
			c.IDs.Form, c.IDs.Layout = "uuid", "time=42@1ms,worker=9,sequence=12;epoch=1960-01-01"
		},
		"no such file": func(c *daemon.Config) { c.IDs.PublicKeys = "/nowhere/keys" },
	} {
		c := config(dir(t))
		change(&c)
		if _, err := daemon.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
	c := config(dir(t))
	c.IDs.PublicKeys = "/nowhere/keys"
	if _, err := daemon.New(c); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file of keys that is missing: %v", err)
	}
}

// A client that reads integers as doubles is said once for its connection, and counted.
func TestAClientThatRoundsIsSaid(t *testing.T) {
	r := start(t, config(dir(t)))
	conn := r.client.Conn()
	defer conn.Close()
	for _, words := range [][]any{{"CLIENT", "SETINFO", "LIB-NAME", "node-redis"}, {"NEXT"}, {"NEXT", 10}, {"RUN", 10}} {
		must.Do(t, conn.Do(t.Context(), words...).Err())
	}
	r.next()
	if got := r.info()["rounding_connections"]; got != "1" {
		t.Errorf("INFO counts %s connections, want 1", got)
	}
	if n := strings.Count(r.log.String(), "a client reads integers as doubles"); n != 1 || !strings.Contains(r.log.String(), "client=node-redis") {
		t.Errorf("the log has %d lines about it:\n%s", n, r.log)
	}
}
