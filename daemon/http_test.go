package daemon_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// overSocket is a client of the daemon's socket.
func overSocket(t *testing.T, d *daemontest.Daemon) *http.Client {
	t.Helper()
	return sockettest.HTTP(t, d.Config.Socket.Path, false)
}

// get returns the status and the reply.
func get(t *testing.T, c *http.Client, path string, header ...string) (*http.Response, string) {
	t.Helper()
	return sockettest.Ask(t, c, http.MethodGet, "http://f"+path, header...)
}

// IDs over HTTP and over RESP, on one socket, come from the same lane: each is there once.
func TestHTTPAndRESPShareASocket(t *testing.T) {
	d := daemontest.Start(t, daemontest.Config(t.TempDir()))
	web := overSocket(t, d)
	redis := redis.NewClient(&redis.Options{Network: "unix", Addr: d.Config.Socket.Path})
	defer redis.Close() // it has nothing to lose
	seen := map[string]bool{}
	for range 50 {
		reply, body := get(t, web, "/v1/ids?count=3")
		var got struct{ IDs []string }
		if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.IDs) != 3 || reply.StatusCode != 200 {
			t.Fatalf("%s %s (%v)", reply.Status, body, err)
		}
		id := must.Get(redis.Do(context.Background(), "NEXT").Int64())(t)
		for _, id := range append(got.IDs, fmt.Sprint(id)) {
			if seen[id] {
				t.Fatalf("%s is there twice", id)
			}
			seen[id] = true
		}
	}
	reply, body := get(t, web, "/v1/status")
	var status map[string]map[string]any
	if err := json.Unmarshal([]byte(body), &status); err != nil || reply.StatusCode != 200 || status["Stats"]["total_ids_issued"] != 200. || status["Worker"]["state"] != "ready" {
		t.Errorf("%s %s (%v)", reply.Status, body, err)
	}
}

func TestCurlAsItIs(t *testing.T) {
	curl := need.Program(t, "curl", "apt-get install curl")
	d := daemontest.Start(t, daemontest.Config(t.TempDir()))
	for path, want := range map[string]string{"/v1/ids?count=3": `{"ids":["`, "/v1/runs?count=5": `{"step":"1","runs":[{"first":"`, "/v1/nothing": `{"type":"urn:flakeward:unknown-path"`} {
		out, err := exec.Command(curl, "--silent", "--show-error", "--unix-socket", d.Config.Socket.Path, "http://f"+path).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%s: %s (%v)", path, out, err)
		}
	}
	out, err := exec.Command(curl, "--silent", "--unix-socket", d.Config.Socket.Path, "-H", "Accept: text/plain", "http://f/v1/ids?count=3", "http://f/v1/ids?count=2").Output()
	if lines := bufio.NewScanner(strings.NewReader(string(out))); err != nil || strings.Count(string(out), "\n") != 5 || !lines.Scan() {
		t.Errorf("%q (%v)", out, err)
	}
}

func TestTheClusterIsShownToHTTP(t *testing.T) {
	d := daemontest.Start(t, daemontest.Config(t.TempDir()))
	web := overSocket(t, d)
	for range 2 { // the second time from what was kept
		reply, body := get(t, web, "/v1/cluster")
		var got struct {
			Members []struct{ Host, State string }
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || reply.StatusCode != 200 || len(got.Members) != 1 || got.Members[0].Host != "host" {
			t.Errorf("%s %s (%v)", reply.Status, body, err)
		}
	}
}

func TestProbesOfADaemonThatIssues(t *testing.T) {
	d := daemontest.Start(t, daemontest.Config(t.TempDir()))
	web := overSocket(t, d)
	for path, want := range map[string]string{"/livez": "ok\n", "/readyz": "ok\n", "/readyz?verbose": "ok\nstate: ready\n"} {
		if reply, body := get(t, web, path); reply.StatusCode != 200 || body != want {
			t.Errorf("%s: %s %q", path, reply.Status, body)
		}
	}
	if _, body := get(t, web, "/readyz", "Accept", "application/json"); body != `{"ready":true,"state":"ready","conditions":[]}`+"\n" {
		t.Errorf("as JSON: %s", body)
	}
}

// The coordinator's absence makes a daemon not ready, with a code; it stays alive.
func TestProbesOfADaemonWhoseCoordinatorIsAway(t *testing.T) {
	c := daemontest.Config(t.TempDir())
	c.Cluster.Coord = "etcd://127.0.0.1:1/x"
	d := daemontest.Launch(t, c, daemon.Run)
	web := overSocket(t, d)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for {
		if c, err := net.Dial("unix", d.Config.Socket.Path); err == nil {
			_ = c.Close()
			break
		}
		<-again.C
	}
	if reply, body := get(t, web, "/livez"); reply.StatusCode != 200 || body != "ok\n" {
		t.Errorf("/livez: %s %q", reply.Status, body)
	}
	for {
		reply, body := get(t, web, "/readyz")
		if reply.StatusCode != 503 || !strings.HasPrefix(body, "no ID can be had: starting\n") {
			t.Fatalf("/readyz: %s %q", reply.Status, body)
		}
		if strings.Contains(body, "\nstarting: ") {
			break
		}
		<-again.C
	}
	if reply, body := get(t, web, "/readyz", "Accept", "application/json"); reply.StatusCode != 503 || !strings.Contains(body, `"code":"starting"`) {
		t.Errorf("as JSON: %s %s", reply.Status, body)
	}
	if reply, body := get(t, web, "/v1/cluster"); reply.StatusCode != 503 {
		t.Errorf("/v1/cluster: %s %s", reply.Status, body)
	}
}

// How long requests of HTTP and calls took is shown as that of RESP's is.
func TestHowLongRequestsOfHTTPTookIsShown(t *testing.T) {
	d := daemontest.Start(t, daemontest.Config(t.TempDir()))
	web := overSocket(t, d)
	for _, path := range []string{"/v1/ids", "/v1/runs?count=5", "/v1/ids/1", "/v1/ids?count=0"} { // the last two ask for none
		get(t, web, path)
	}
	if _, body := get(t, web, "/metrics"); !strings.Contains(body, `flakeward_request_duration_seconds_count{dialect="http"} 2`+"\n") {
		t.Errorf("a scrape has not the durations of two requests:\n%s", body)
	}
}
