package daemon_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/must"
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

// The daemon's form holds for connections that ask for none. Each form is had back.
func TestForms(t *testing.T) {
	c := config(dir(t))
	c.IDs.Form = "string"
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
}

func TestAFormThatCannotBeIsRefusedAtTheStart(t *testing.T) {
	for want, change := range map[string]func(*daemon.Config){
		`--form: there is no form "strin": did you mean string?`:                     func(c *daemon.Config) { c.IDs.Form = "strin" },
		`--form: there is no form "public": there are integer, string, base62, uuid`: func(c *daemon.Config) { c.IDs.Form = "public" },
		"before 1970": func(c *daemon.Config) {
			c.IDs.Form, c.IDs.Layout = "uuid", "time=42@1ms,worker=9,sequence=12;epoch=1960-01-01"
		},
	} {
		c := config(dir(t))
		change(&c)
		if _, err := daemon.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
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
