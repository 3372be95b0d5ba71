package redisclients

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
	"github.com/flakeward/flakeward/internal/port"
	"github.com/flakeward/flakeward/internal/process"
)

// redis-cli's own modes work: pipe, RESP3, latency.
func TestRedisCLI(t *testing.T) {
	socket := start(t)
	cli := func(input string, args ...string) string {
		return cliOf(t, socket, input, args...)
	}
	if ids := integers(t, cli("", "-3", "NEXT", "5")); len(ids) != 5 {
		t.Errorf("-3 NEXT 5: %d", ids)
	}
	if out := cli("", "-3", "INFO", "clients"); !strings.Contains(out, "connected_clients:") {
		t.Errorf("-3 INFO clients: %q", out)
	}
	if out := cli("MULTI\nNEXT\nECHO \"a b\"\nEXEC\n"); !regexp.MustCompile(`^OK\nQUEUED\nQUEUED\n\d+\na b\n$`).MatchString(out) {
		t.Errorf("a transaction: %q", out)
	}
	if out := cli(strings.Repeat("NEXT\r\n", 1000), "--pipe"); !strings.Contains(out, "errors: 0, replies: 1000") {
		t.Errorf("--pipe: %q", out)
	}
	// Without a terminal, --latency prints its figures once: minimum, maximum, average, samples.
	if out := cli("", "--latency", "-i", "1"); !regexp.MustCompile(`^\d+ \d+ [\d.]+ \d+\n$`).MatchString(out) {
		t.Errorf("--latency: %q", out)
	}
	if out := cli("", "--user", "default", "--pass", "secret", "--no-auth-warning", "PING"); out != "PONG\n" {
		t.Errorf("AUTH default: %q", out)
	}
}

func cliOf(t *testing.T, socket, input string, args ...string) string {
	t.Helper()
	return runWith(t, input, "redis-cli", append([]string{"-s", socket}, args...)...)
}

// The exporter for Prometheus finds a server that is up, and nothing that it cannot read.
func TestRedisExporter(t *testing.T) {
	socket := start(t)
	free := must.Get(port.Reserve())(t)
	t.Cleanup(func() { must.Do(t, free.Release()) })
	exporter := need.Program(t, "prometheus-redis-exporter", "scripts/need clients")
	p := must.Get(process.Start(t.Context(), process.Program{Command: []string{
		exporter, "-redis.addr", "unix://" + socket, "-web.listen-address", free.Address(), "-include-system-metrics",
	}}))(t)
	t.Cleanup(func() { <-p.Ended() }) // as it does when the test's context ends
	var page string
	must.Soon(t, func() bool { // it is about to listen
		reply, err := http.Get("http://" + free.Address() + "/metrics")
		if err != nil {
			return false
		}
		defer reply.Body.Close()
		page = string(must.Get(io.ReadAll(reply.Body))(t))
		return true
	}, "the exporter's page")
	for _, want := range []string{
		"redis_up 1", `redis_exporter_last_scrape_error{err=""} 0`, "redis_connected_clients [1-9]", "redis_blocked_clients 0", "redis_memory_used_bytes [1-9]",
		"redis_commands_processed_total [1-9]", "redis_uptime_in_seconds [0-9]", "redis_connections_received_total [1-9]",
		`redis_db_keys{db="db0"} 0`, "redis_rejected_connections_total 0",
	} {
		if !regexp.MustCompile("(?m)^" + want).MatchString(page) {
			t.Errorf("the exporter does not show %q", want)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}
