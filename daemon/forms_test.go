package daemon_test

import (
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

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
