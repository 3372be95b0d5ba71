package logins

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

var long = flag.Bool("long", false, "ten minutes for each release of etcd and each time that a token holds")

const (
	password = "geheimes-Wort"
	rate     = 200 // IDs a second
	members  = 3
)

// calm is how many IDs are asked for between two restarts: tokens of 3 s end meanwhile.
func calm() int {
	if *long {
		return 10 * rate
	}
	return 4 * rate
}

// Members of etcd are killed and started, one and all three in turn, while tokens end by
// themselves, too: no request fails, and a cluster that is back is not asked for a grant in vain
// twice.
func TestRestarts(t *testing.T) {
	program := must.Get(process.BuildNormal(t.Context(), t.TempDir()))(t)
	holds := []time.Duration{3 * time.Second}
	if *long {
		holds = append(holds, time.Minute)
	}
	for _, release := range []string{etcdtest.Releases[0], etcdtest.Newest} {
		for _, ttl := range holds {
			t.Run(fmt.Sprintf("%s with tokens of %v", release, ttl), func(t *testing.T) {
				t.Parallel()
				restarts(t, program, release, ttl)
			})
		}
	}
}

func restarts(t *testing.T, program, release string, ttl time.Duration) {
	// Etcd's own times: with those of tests, members on a busy machine elect again and again.
	flags := append(etcdtest.JWT(t, ttl), "--heartbeat-interval", "100", "--election-timeout", "1000")
	cluster := etcdtest.Start(t, etcdtest.Options{Release: release, Members: members, RootPassword: password, Flags: flags})
	cluster.AddUser("ours", password, "/ours/")
	file := filepath.Join(t.TempDir(), "password")
	must.Do(t, os.WriteFile(file, []byte(password), 0o600))
	h := must.Get(process.NewHost(program, sockettest.Dir(t)+"/h", "--coord", "etcd://"+strings.Join(cluster.Endpoints(), ",")+"/ours",
		"--coord-user", "ours", "--coord-password-file", file, "--publish", "1s", "--log-level", "debug"))(t)
	d := must.Get(h.Start(t.Context()))(t)
	must.Do(t, d.Await(t.Context(), "ready"))
	s := must.Get(load.Open(t.Context(), h.Socket, load.Config{Rate: rate}))(t)
	must.Do(t, s.Await(t.Context(), calm()))

	w := watch{t: t, host: h, client: sockettest.HTTP(t, h.Socket, false)}
	rounds, worst := 0, 0
	gap := time.Duration(0)
	for begun := time.Now(); rounds < 2 || *long && time.Since(begun) < 10*time.Minute; rounds++ {
		stopped := []int{rounds / 2 % members}
		if rounds%2 == 1 {
			stopped = []int{0, 1, 2}
		}
		for _, i := range stopped {
			cluster.Stop(i)
		}
		must.Do(t, s.Await(t.Context(), 2*rate)) // the daemon finds out
		cluster.StartAll()
		worst = max(worst, w.failures(time.Now()))
		must.Do(t, s.Await(t.Context(), calm()))
		gap = max(gap, s.Longest())
	}
	defer func() {
		if t.Failed() {
			w.show()
		}
	}()
	ids, refused, err := s.Close()
	if err != nil || refused != 0 {
		t.Errorf("%d requests were refused, %v", refused, err)
	}
	if worst > 1 {
		t.Errorf("%d publishes failed one after the other although the cluster was back", worst)
	}
	if text := string(must.Get(os.ReadFile(h.Log))(t)); strings.Contains(text, password) {
		t.Error("the log shows the password")
	} else if strings.Contains(text, "login refused") {
		t.Error("the log tells of a refused login")
	}
	t.Logf("FIGURE etcd %s, tokens of %v: %d restarts of one member and %d of three: %d IDs, %d requests failed, longest wait %v; at most %d publishes failed after the cluster was back",
		release, ttl, (rounds+1)/2, rounds/2, len(ids), refused, gap.Round(time.Millisecond), worst)
}

// watch sees what the daemon's publishes come to.
type watch struct {
	t      *testing.T
	host   *process.Host
	client *http.Client
}

// failures waits for a grant that was extended after the time, and returns how many tries between
// them failed.
func (w watch) failures(since time.Time) int {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for !w.published().After(since) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			w.t.Fatalf("no grant was extended within a minute after the cluster was back; the log:\n%s", w.since(since))
		}
	}
	failed := w.since(since)
	if len(failed) > 1 {
		w.t.Logf("after the cluster was back:\n%s", strings.Join(failed, "\n"))
	}
	return len(failed)
}

// show shows what the daemon's log warns of.
func (w watch) show() {
	w.t.Helper()
	for line := range strings.Lines(string(must.Get(os.ReadFile(w.host.Log))(w.t))) {
		if !strings.Contains(line, `"@level":"debug"`) && !strings.Contains(line, `"@level":"trace"`) {
			w.t.Log(strings.TrimSpace(line))
		}
	}
}

var published = regexp.MustCompile(`(?m)^flakeward_published_timestamp_seconds (\S+)$`)

// published is when the grant was extended last.
func (w watch) published() time.Time {
	w.t.Helper()
	_, text := sockettest.Ask(w.t, w.client, http.MethodGet, "http://flakeward/metrics")
	found := published.FindStringSubmatch(text)
	if found == nil {
		w.t.Fatalf("the metrics have no time of the last grant:\n%s", text)
	}
	seconds := must.Get(strconv.ParseFloat(found[1], 64))(w.t)
	return time.UnixMicro(int64(seconds * 1e6))
}

// since is what the daemon's log has of tries that failed since a time.
func (w watch) since(since time.Time) (lines []string) {
	w.t.Helper()
	text := must.Get(os.ReadFile(w.host.Log))(w.t)
	for _, line := range slices.Backward(strings.Split(strings.TrimSpace(string(text)), "\n")) {
		var entry struct {
			Message string    `json:"@message"`
			Time    time.Time `json:"@timestamp"`
		}
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue // it is being written
		}
		if entry.Time.Before(since) {
			break
		}
		if entry.Message == "a try with the coordinator failed" {
			lines = append(lines, line)
		}
	}
	return lines
}
