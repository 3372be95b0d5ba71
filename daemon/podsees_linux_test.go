package daemon_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// bulk is the reply to a request whose reply is one text.
func (a *asker) bulk(request string) string {
	a.t.Helper()
	a.send(request + "\r\nPING\r\n")
	var text strings.Builder
	for {
		line := a.line()
		if line == "+PONG" {
			return text.String()
		}
		text.WriteString(line + "\n")
	}
}

// A pod is told of nobody else, in any dialect, and gets all that an application needs.
func TestAPodSeesNoOtherUser(t *testing.T) {
	c := withPods(t)
	c.Waiting.Rate = "1000000/s"
	start(t, c)
	a, b := served(t, pod(t, c, "a", "tenant-a/x")), served(t, pod(t, c, "b", "secret-ns/secret-pod"))
	other := dial(t, b)
	other.send("NEXT\r\n")
	other.id()
	mine, second := dial(t, a), dial(t, a)
	second.bulk("CLIENT SETNAME second")
	if list := mine.bulk("CLIENT LIST"); strings.Contains(list, "secret") || strings.Count(list, "user=tenant-a/x ") != strings.Count(list, "user=") ||
		!strings.Contains(list, "name=second ") {
		t.Errorf("a pod's CLIENT LIST is %s", list)
	}
	if list := dial(t, c).bulk("CLIENT LIST"); !strings.Contains(list, "user=secret-ns/secret-pod ") || !strings.Contains(list, "user=tenant-a/x ") {
		t.Errorf("the node's CLIENT LIST is %s", list)
	}
	if info := mine.bulk("INFO"); strings.Contains(info, "secret") || !strings.Contains(info, "loading:0") {
		t.Errorf("a pod's INFO is %s", info)
	}

	served, refused := []string{
		"/v1/ids", "/v1/ids/1", "/v1/runs", "/v1/bounds?from=-1h&to=now", "/v1/layout", "/v1/openapi.json", "/livez", "/readyz",
	}, []string{
		"/", "/?id=1", "/page/style.css", "/page/script.js", "/page/icon.svg", "/metrics", "/v1/status", "/v1/cluster",
	}
	for _, two := range []bool{false, true} {
		web := sockettest.HTTP(t, a.Socket.Path, two)
		for _, path := range served {
			if reply, body := get(t, web, path); reply.StatusCode != 200 {
				t.Errorf("a pod gets for %s: %s", path, body)
			}
		}
		for _, path := range refused {
			reply, body := get(t, web, path)
			var problem struct{ Code, Detail string }
			if err := json.Unmarshal([]byte(body), &problem); err != nil || reply.StatusCode != 403 || problem.Code != "not-here" ||
				!strings.Contains(problem.Detail, "the node's own socket") {
				t.Errorf("a pod gets for %s: %s %s", path, reply.Status, body)
			}
		}
	}
	node := sockettest.HTTP(t, c.Socket.Path, false)
	for _, path := range []string{"/", "/metrics", "/v1/status", "/v1/cluster"} {
		if reply, _ := get(t, node, path); reply.StatusCode != 200 {
			t.Errorf("the node's socket answers %s to %s", reply.Status, path)
		}
	}
	// The page's streams have a test of their own. A path that is new is in one of the two lists.
	_, text := get(t, node, "/v1/openapi.json")
	var document struct{ Paths map[string]any }
	if err := json.Unmarshal([]byte(text), &document); err != nil || len(document.Paths) == 0 {
		t.Fatal(err)
	}
	known := map[string]bool{"/v1/ids/{id}": true}
	for _, path := range append(served, refused...) {
		path, _, _ = strings.Cut(path, "?")
		known[path] = true
	}
	for path := range document.Paths {
		if !known[path] {
			t.Errorf("nothing says whether a pod may see %s", path)
		}
	}
	rpc := flakewardv1connect.NewIdServiceClient(sockettest.HTTP(t, a.Socket.Path, true), "http://f", connect.WithGRPC())
	if _, err := rpc.Next(t.Context(), connect.NewRequest(&flakewardv1.NextRequest{Count: 1})); err != nil {
		t.Errorf("a pod gets by gRPC: %v", err)
	}
}

// However many streams a pod asks for, the operator follows the page.
func TestAPodTakesNoStreamOfThePage(t *testing.T) {
	c := withPods(t)
	start(t, c)
	a := served(t, pod(t, c, "a", "n/p"))
	stream := func(c daemon.Config) int {
		t.Helper()
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://f/page/events", nil))(t)
		reply := must.Get(sockettest.HTTP(t, c.Socket.Path, false).Do(r))(t)
		t.Cleanup(func() { _ = reply.Body.Close() })
		return reply.StatusCode
	}
	for range 20 { // more than there are for all
		if got := stream(a); got != http.StatusForbidden {
			t.Errorf("a pod gets %d", got)
		}
	}
	if got := stream(c); got != http.StatusOK {
		t.Errorf("the operator gets %d", got)
	}
}
