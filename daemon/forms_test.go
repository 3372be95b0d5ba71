package daemon_test

import (
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/must"
)

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
