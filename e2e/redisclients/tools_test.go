package redisclients

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/port"
	"github.com/flakeward/flakeward/internal/process"
)

const redisCLI = "redis-cli"

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
	ctx, cancel := context.WithTimeout(t.Context(), mostTime)
	defer cancel()
	command := exec.CommandContext(ctx, redisCLI, append([]string{"-s", socket}, args...)...)
	command.Stdin = strings.NewReader(input)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("redis-cli %q: %v (scripts/need clients installs it)", args, err)
	}
	return string(out)
}

// lines starts a program that ends with the test, and returns what it prints.
func lines(t *testing.T, program string, args ...string) *bufio.Scanner {
	t.Helper()
	command := exec.Command(program, args...)
	command.SysProcAttr = process.Orphanless()
	out := must.Get(command.StdoutPipe())(t)
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatalf("%v (scripts/need clients installs it)", err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	return bufio.NewScanner(out)
}

// redis-cli --stat shows figures in all of its columns.
func TestRedisCLIStat(t *testing.T) {
	out := lines(t, "stdbuf", "-oL", redisCLI, "-s", start(t), "--stat", "-i", "1")
	row := regexp.MustCompile(`^0 +\d+\.\d\dM +\d+ +\d+ +\d+ \(\+\d+\) +\d+ *$`)
	for rows := 0; rows < 2 && out.Scan(); {
		switch line := out.Text(); {
		case strings.HasPrefix(line, "-"), strings.HasPrefix(line, "keys"):
		case row.MatchString(line):
			rows++
		default:
			t.Fatalf("the row %q", line)
		}
	}
	must.Do(t, out.Err())
}

// The exporter for Prometheus finds a server that is up, and nothing that it cannot read.
func TestRedisExporter(t *testing.T) {
	socket := start(t)
	free := must.Get(port.Reserve())(t)
	t.Cleanup(func() { must.Do(t, free.Release()) })
	lines(t, "prometheus-redis-exporter", "-redis.addr", "unix://"+socket, "-web.listen-address", free.Address(), "-include-system-metrics")
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
