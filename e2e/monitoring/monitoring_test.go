package monitoring

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/redis/go-redis/v9"
	"go.yaml.in/yaml/v3"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/port"
	"github.com/flakeward/flakeward/internal/sockettest"
)

const (
	mixin    = "../../deploy/mixin/"
	rendered = mixin + "rendered/"
	mostTime = time.Minute
)

// run runs a tool of Prometheus'.
func run(t *testing.T, stdin, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), mostTime)
	defer cancel()
	command := exec.CommandContext(ctx, name, args...)
	command.Stdin = strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v (scripts/need prometheus installs it)\n%s", name, args, err, out)
	}
	return string(out)
}

// start starts a daemon that is scraped at an address, as well as on its socket.
func start(t *testing.T) daemon.Config {
	t.Helper()
	free := must.Get(port.Reserve())(t)
	t.Cleanup(func() { must.Do(t, free.Release()) })
	c := daemontest.Config(sockettest.Dir(t))
	c.Waiting.Rate, c.Listen.Address = "1000000/s", free.Address()
	return daemontest.Start(t, c).Config
}

// served is one that has served and refused something.
func served(t *testing.T) daemon.Config {
	t.Helper()
	c := start(t)
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: c.Socket.Path})
	defer func() { _ = client.Close() }()
	for _, words := range [][]any{{"NEXT"}, {"NEXT", 100}, {"RUN", 1000}, {"NEXT", 0}} {
		_ = client.Do(t.Context(), words...).Err() // the last is refused
	}
	return c
}

func scrape(t *testing.T, of daemon.Config) string {
	t.Helper()
	_, text := sockettest.Ask(t, http.DefaultClient, http.MethodGet, "http://"+of.Listen.Address+"/metrics")
	return text
}

// TestPromtoolFindsNothingInAScrape: names, units and help are as Prometheus asks.
func TestPromtoolFindsNothingInAScrape(t *testing.T) {
	if out := run(t, scrape(t, served(t)), "promtool", "check", "metrics"); out != "" {
		t.Errorf("promtool check metrics:\n%s", out)
	}
	if out := run(t, "# HELP flakeward_x x\n# TYPE flakeward_x counter\nflakeward_x 1\n", "sh", "-c", "promtool check metrics || true"); out == "" {
		t.Error("promtool finds nothing in a counter without _total")
	}
}

// ruleFile is a file of rules or of their tests.
type ruleFile struct {
	Groups []struct {
		Rules []struct {
			Record, Alert, Expr string
			Labels, Annotations map[string]string
		}
	}
	Tests []struct {
		AlertRuleTest []struct {
			Alertname string
			ExpAlerts []any `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	}
}

func read(t *testing.T, path string) (text string, of ruleFile) {
	t.Helper()
	b := must.Get(os.ReadFile(path))(t)
	must.Do(t, yaml.Unmarshal(b, &of))
	return string(b), of
}

// TestAlertsFireAndStaySilent: each does both, and has a severity and a section of the runbook.
func TestAlertsFireAndStaySilent(t *testing.T) {
	run(t, "", "promtool", "test", "rules", mixin+"tests.yaml")
	_, alerts := read(t, rendered+"alerts.yaml")
	_, tests := read(t, mixin+"tests.yaml")
	runbook := string(must.Get(os.ReadFile("../../docs/operations.md"))(t))
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, of := range tests.Tests {
		for _, test := range of.AlertRuleTest {
			fires[test.Alertname] = fires[test.Alertname] || len(test.ExpAlerts) > 0
			silent[test.Alertname] = silent[test.Alertname] || len(test.ExpAlerts) == 0
		}
	}
	for _, a := range alerts.Groups[0].Rules {
		if !fires[a.Alert] || !silent[a.Alert] {
			t.Errorf("of %s it is tested that it fires: %t, that it stays silent: %t", a.Alert, fires[a.Alert], silent[a.Alert])
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, a.Labels["severity"]) {
			t.Errorf("%s has the severity %q", a.Alert, a.Labels["severity"])
		}
		if page, anchor, _ := strings.Cut(a.Annotations["runbook_url"], "#"); !strings.HasSuffix(page, "/docs/operations.md") || anchor != strings.ToLower(a.Alert) {
			t.Errorf("%s has the runbook %s#%s", a.Alert, page, anchor)
		}
		if !strings.Contains(runbook, "\n### "+a.Alert+"\n") {
			t.Errorf("docs/operations.md does not say what to do about %s", a.Alert)
		}
	}
}

var (
	named    = regexp.MustCompile(`[a-z_:]*(?:flakeward|process|go)_[a-z0-9_:]+`)
	inBraces = regexp.MustCompile(`\{[^{}]*\}`)
)

// TestWhatDashboardAndAlertsNameIsThere: each metric is in a scrape of a daemon, or a rule makes
// it.
func TestWhatDashboardAndAlertsNameIsThere(t *testing.T) {
	text := scrape(t, served(t))
	there := map[string]bool{}
	for line := range strings.Lines(text) {
		there[line[:strings.IndexAny(line, "{ ")]] = true
	}
	rulesText, rules := read(t, rendered+"rules.yaml")
	for _, r := range rules.Groups[0].Rules {
		there[r.Record] = true
	}
	alerts, _ := read(t, rendered+"alerts.yaml")
	dashboard := string(must.Get(os.ReadFile(rendered + "dashboard.json"))(t))
	seen := 0
	for path, content := range map[string]string{"rules.yaml": rulesText, "alerts.yaml": alerts, "dashboard.json": dashboard} {
		for line := range strings.Lines(content) {
			if !strings.Contains(line, "expr") && !strings.Contains(line, "query") && !strings.Contains(line, "flakeward_") {
				continue
			}
			for _, name := range named.FindAllString(inBraces.ReplaceAllString(line, ""), -1) {
				if seen++; !there[name] {
					t.Errorf("%s names %s, which a daemon does not have", path, name)
				}
			}
		}
	}
	if seen < 60 {
		t.Errorf("only %d names were found", seen)
	}
}

// TestAlertsKnowTheCodes: each code of the table is one that an alert takes for a lack of IDs, or
// one that no request is refused with.
func TestAlertsKnowTheCodes(t *testing.T) {
	alerts, _ := read(t, rendered+"alerts.yaml")
	never := []condition.Code{
		condition.HalfOver, condition.Issuing, condition.Recovered, condition.ClockHeld, condition.ClockFollowed, condition.ClockBack,
		condition.UserRate, condition.CountTooLarge, // what a client asks for
	}
	for _, e := range condition.Table {
		known := strings.Contains(alerts, string(e.Code)+"|") || strings.Contains(alerts, "|"+string(e.Code))
		if known == slices.Contains(never, e.Code) {
			t.Errorf("FlakewardWaitsTooLong has %s: %t", e.Code, known)
		}
	}
}

var counted = regexp.MustCompile(`flakeward_requests_total\{[^}]*command="([^"]*)"`)

// TestAlertsKnowTheCommandsThatAskForIDs: FlakewardWaitsTooLong is about these commands alone.
// Others may be refused with the same codes while IDs are to be had.
func TestAlertsKnowTheCommandsThatAskForIDs(t *testing.T) {
	c := start(t)
	redis := redis.NewClient(&redis.Options{Network: "unix", Addr: c.Socket.Path})
	defer func() { _ = redis.Close() }()
	must.Do(t, redis.Do(t.Context(), "NEXT").Err())
	must.Do(t, redis.Do(t.Context(), "RUN", 1).Err())
	client := sockettest.HTTP(t, c.Socket.Path, true)
	for _, path := range []string{"/v1/ids", "/v1/runs"} {
		sockettest.Ask(t, client, http.MethodGet, "http://socket"+path)
	}
	rpc := flakewardv1connect.NewIdServiceClient(client, "http://socket")
	must.Get(rpc.Next(t.Context(), connect.NewRequest(&flakewardv1.NextRequest{})))(t)
	must.Get(rpc.Run(t.Context(), connect.NewRequest(&flakewardv1.RunRequest{Count: 1})))(t)
	stream := rpc.Stream(t.Context())
	must.Do(t, stream.Send(&flakewardv1.StreamRequest{}))
	must.Get(stream.Receive())(t)
	must.Do(t, stream.CloseRequest())
	_, err := stream.Receive()
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	var asked []string
	for _, match := range counted.FindAllStringSubmatch(scrape(t, c), -1) {
		if command := match[1]; command != "HELLO" && command != "CLIENT" { // of the client, as it connects
			asked = append(asked, command)
		}
	}
	alerts, _ := read(t, rendered+"alerts.yaml")
	named := regexp.MustCompile(`command=~\\?"([^"\\]*)\\?", code`).FindStringSubmatch(alerts)
	if named == nil {
		t.Fatal("no alert names commands")
	}
	known := strings.Split(named[1], "|")
	slices.Sort(asked)
	slices.Sort(known)
	if asked = slices.Compact(asked); !slices.Equal(asked, known) {
		t.Errorf("FlakewardWaitsTooLong is about %q, and IDs are asked for by %q", known, asked)
	}
}

// TestComposeTakesTheMonitoringFile: beside the one with the daemons, and promtool takes its
// configuration of Prometheus.
func TestComposeTakesTheMonitoringFile(t *testing.T) {
	command := "docker-compose"
	if exec.Command("docker", "compose", "version").Run() == nil {
		command = "docker compose"
	}
	out := run(t, "", "sh", "-c", command+" -f ../../deploy/compose.yaml -f ../../deploy/compose.monitoring.yaml config")
	for _, part := range []string{"metrics-3:", "grafana:", "daemon-3:", "UNIX-CONNECT:/run/flakeward/flakeward.sock", "/mixin/rendered"} {
		if !strings.Contains(out, part) {
			t.Errorf("%s is missing in\n%s", part, out)
		}
	}
	run(t, "", "promtool", "check", "config", "--syntax-only", "../../deploy/monitoring/prometheus.yml")
}
