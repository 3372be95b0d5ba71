package monitoring

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/port"
	"github.com/flakeward/flakeward/internal/process"
)

// prometheus is a server that scrapes a daemon and has the mixin's rules.
type prometheus struct {
	*process.Process
	t   *testing.T
	url string
}

func startPrometheus(t *testing.T, target string) *prometheus {
	t.Helper()
	dir := t.TempDir()
	rules, config := must.Get(filepath.Abs(rendered))(t), filepath.Join(dir, "prometheus.yml")
	must.Do(t, os.WriteFile(config, fmt.Appendf(nil, `global: {scrape_interval: 500ms, evaluation_interval: 500ms}
rule_files: [%[1]s/rules.yaml, %[1]s/alerts.yaml]
scrape_configs:
  - job_name: flakeward
    static_configs: [{targets: [%[2]q]}]
`, rules, target), 0o600))
	run(t, "", "promtool", "check", "config", config)
	free := must.Get(port.Reserve())(t)
	t.Cleanup(func() { must.Do(t, free.Release()) })
	address := free.Address()
	server, err := process.Start(t.Context(), process.Program{Command: []string{
		"prometheus", "--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address,
	}})
	if err != nil {
		t.Fatalf("%v (scripts/need prometheus installs it)", err)
	}
	t.Cleanup(func() { <-server.Ended() }) // it ends with the context, and its directory is removed next
	return &prometheus{server, t, "http://" + address}
}

// get asks the server's API; false while it does not answer.
func (p *prometheus) get(path string, into any) bool {
	reply, err := http.Get(p.url + path)
	if err != nil {
		return false
	}
	defer func() { _ = reply.Body.Close() }()
	return json.NewDecoder(reply.Body).Decode(&struct{ Data any }{into}) == nil
}

// value is that of an expression with one result; empty: it has none.
func (p *prometheus) value(expr string) string {
	var data struct {
		Result []struct{ Value [2]any }
	}
	if !p.get("/api/v1/query?query="+url.QueryEscape(expr), &data) || len(data.Result) != 1 {
		return ""
	}
	return fmt.Sprint(data.Result[0].Value[1])
}

// until asks again and again until the expression has a value.
func (p *prometheus) until(expr string) string {
	p.t.Helper()
	for end := time.Now().Add(mostTime); ; <-time.After(100 * time.Millisecond) {
		if v := p.value(expr); v != "" && v != "NaN" {
			return v
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s has no value after %v; the log:\n%s", expr, mostTime, p.Tail())
		}
	}
}

// TestPrometheusScrapesADaemon: it takes all metrics, evaluates each rule and alert without an
// error, and none of those that say that IDs are missing fires.
func TestPrometheusScrapesADaemon(t *testing.T) {
	p := startPrometheus(t, served(t).Listen.Address)
	p.until(`flakeward_ready == 1`)
	for _, record := range []string{"instance:flakeward_grant_left_seconds:min", "cluster_id:flakeward_worker_ids_held:ratio"} {
		t.Logf("%s is %s", record, p.until(record))
	}
	p.until(`sum(instance_code:flakeward_requests:rate5m)`)
	if v := p.until(`sum(flakeward_ids_issued_total)`); v != "1101" {
		t.Errorf("of 1101 IDs it has %s", v)
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, State, LastError string }
		}
	}
	if !p.get("/api/v1/rules", &rules) || len(rules.Groups) != 2 {
		t.Fatalf("the rules are %+v", rules)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" {
				t.Errorf("%s: %s, %s", r.Name, r.Health, r.LastError)
			}
			if r.State != "" && r.State != "inactive" && r.Name != "FlakewardClockNotSynchronised" && r.Name != "FlakewardRequestsRefused" { // this machine, this test
				t.Errorf("%s is %s", r.Name, r.State)
			}
		}
	}
}
