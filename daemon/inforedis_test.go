package daemon_test

import (
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// redis-cli --stat looks for a field by its name anywhere in the reply, and would take the end of
// another field's name for it.
func TestRedisCLIFindsItsFields(t *testing.T) {
	text := must.Get(start(t, config(dir(t))).client.Info(t.Context()).Result())(t)
	for _, field := range []string{"used_memory", "connected_clients", "blocked_clients", "total_commands_processed", "total_connections_received", "loading"} {
		if before, _, found := strings.Cut(text, field); !found || !strings.HasSuffix(before, "\n") {
			t.Errorf("the first %s is not a field of that name, but ends %q", field, before[strings.LastIndex(before, "\n")+1:])
		}
	}
}
