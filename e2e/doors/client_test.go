package doors

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/tenant"
	"github.com/flakeward/flakeward/e2e/doors/openapi"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// mostTime bounds each wait.
const mostTime = time.Minute

// stepped is the real clock, and what a test has stepped the wall clock by.
type stepped struct {
	clockguard.System
	by atomic.Int64
}

func (s *stepped) Now() clockguard.Reading {
	r := s.System.Now()
	r.Wall += s.by.Load()
	return r
}

func as[T any](value T) *T { return &value }

// until asks until the answer is as wanted.
func until[T any](t *testing.T, what string, ask func() T, done func(T) bool) T {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), mostTime)
	defer stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		answer := ask()
		if done(answer) {
			return answer
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			text, _ := json.Marshal(answer)
			t.Fatalf("%s: not within %v; the last answer is %s", what, mostTime, text)
		}
	}
}

// A client that was generated from the document uses each of its paths, parameters and values, gets
// each reply that is in it, and reads each field of these as it was sent: what the document has and
// no daemon serves, or a client cannot read, shows here.
func TestAGeneratedClientUsesTheWholeDocument(t *testing.T) {
	etcd, clock := etcdtest.Start(t, etcdtest.Options{}), &stepped{}
	c := daemontest.Config(sockettest.Dir(t))
	c.Cluster.Coord, c.Clock = etcd.URL("doors"), clock
	c.Grant.Window, c.Grant.Step, c.Grant.Publish = 2*time.Second, 100*time.Millisecond, 100*time.Millisecond
	c.Waiting.MaxBlock = 100 * time.Millisecond
	c.IDs.Layout, c.IDs.Datacenter = "time=40@1ms,datacenter=2,worker=5,tenant=4,sequence=12;epoch=2026-01-01", 1
	c.IDs.WorkerRange = "0-0" // what a step ahead has skipped of it is used once the clock is back
	c.Time.ForwardHold = 2 * time.Second
	c.Socket.Pods = podOf(t, c)
	var round sync.Mutex // who has it holds the socket's loop up once that makes INFO
	c.LogDropped = func() uint64 { round.Lock(); defer round.Unlock(); return 0 }
	c.IDs.PublicKeys = filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(c.IDs.PublicKeys, []byte("k1 000102030405060708090a0b0c0d0e0f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.IDs.Tenants = []tenant.Tenant{{Name: "orders", ID: 3}, {Name: "slow", ID: 4, Rate: issue.Rate{PerSecond: 1, Burst: 100}}}
	d := daemontest.Start(t, c)
	socket := dialing(t, d.Config.Socket.Path)
	bare, err := openapi.NewClientWithResponses("http://localhost", openapi.WithHTTPClient(&http.Client{Transport: socket}))
	if err != nil {
		t.Fatal(err)
	}
	served, err := bare.OpenapiWithResponse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	generatedFrom, err := openapi.GetSpecJSON()
	if err != nil {
		t.Fatal(err)
	}
	// The generator capitalises the names of operations.
	if !strings.EqualFold(fmt.Sprint(plain(t, generatedFrom)), fmt.Sprint(plain(t, served.Body))) {
		t.Fatal("the client is generated from another document than the daemon's: run `make openapi`")
	}
	doc := newDocument(t, served.Body, socket)
	client, err := openapi.NewClientWithResponses("http://localhost", openapi.WithHTTPClient(&http.Client{Transport: doc}))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()

	accept := func(kind string) openapi.RequestEditorFn {
		return func(_ context.Context, r *http.Request) error { r.Header.Set("Accept", kind); return nil }
	}
	put := func(_ context.Context, r *http.Request) error { r.Method = http.MethodPut; return nil }
	wrong := func(_ context.Context, r *http.Request) error { r.URL.RawQuery += "&nosuch=1"; return nil }
	ids := func(p openapi.IdsParams, more ...openapi.RequestEditorFn) *openapi.IdsResponse {
		return must(t)(client.IdsWithResponse(ctx, &p, more...)).(*openapi.IdsResponse)
	}
	runs := func(p openapi.RunsParams, more ...openapi.RequestEditorFn) *openapi.RunsResponse {
		return must(t)(client.RunsWithResponse(ctx, &p, more...)).(*openapi.RunsResponse)
	}
	decode := func(id string, p openapi.DecodeParams, more ...openapi.RequestEditorFn) *openapi.DecodeResponse {
		return must(t)(client.DecodeWithResponse(ctx, id, &p, more...)).(*openapi.DecodeResponse)
	}
	cluster := func(more ...openapi.RequestEditorFn) *openapi.ClusterResponse {
		return must(t)(client.ClusterWithResponse(ctx, more...)).(*openapi.ClusterResponse)
	}
	ready := func(p openapi.ReadyzParams, more ...openapi.RequestEditorFn) *openapi.ReadyzResponse {
		return must(t)(client.ReadyzWithResponse(ctx, &p, more...)).(*openapi.ReadyzResponse)
	}
	first := ids(openapi.IdsParams{Count: as[int64](3), Tenant: as("orders")}).JSON200.Ids
	if got := decode(first[2], openapi.DecodeParams{}).JSON200; got == nil || got.Id != first[2] || *got.TenantName != "orders" || *got.Datacenter != 1 {
		t.Errorf("%s is taken apart into %v", first[2], got)
	}
	for _, form := range []openapi.IdsParamsAs{"integer", "string", "base62", "hex", "bignum", "uuid", "public"} {
		texts := ids(openapi.IdsParams{Count: as[int64](2), Tenant: as("3"), As: &form}).JSON200.Ids
		if got := decode(texts[0], openapi.DecodeParams{As: as(openapi.DecodeParamsAs(form))}).JSON200; got == nil || got.Id <= first[2] || *got.TenantName != "orders" {
			t.Errorf("%s: %s is taken apart into %v", form, texts[0], got)
		}
	}
	if got := decode("18014398509481984", openapi.DecodeParams{}).JSON200; got == nil || got.MayBeRounded == nil {
		t.Errorf("2^54 is not told to be possibly rounded: %v", got)
	}
	if got := must(t)(client.CreateIdsWithResponse(ctx, nil, openapi.CreateIdsJSONRequestBody{Count: as[int64](2), Tenant: as("orders")})).(*openapi.CreateIdsResponse); got.JSON200 == nil || len(got.JSON200.Ids) != 2 {
		t.Errorf("a POST of JSON: %s", got.Body)
	}
	if got := must(t)(client.CreateRunsWithFormdataBodyWithResponse(ctx, nil, openapi.CreateRunsFormdataRequestBody{Count: as[int64](2)})).(*openapi.CreateRunsResponse); got.JSON200 == nil || len(got.JSON200.Runs) == 0 {
		t.Errorf("a POST of a form: %s", got.Body)
	}
	if got := runs(openapi.RunsParams{Count: as[int64](10), Tenant: as("orders")}).JSON200; got == nil || len(got.Runs) == 0 {
		t.Errorf("runs: %v", got)
	}
	if got := ids(openapi.IdsParams{Count: as[int64](3)}, accept("text/plain")); bytes.Count(got.Body, []byte("\n")) != 3 {
		t.Errorf("as plain text: %s", got.Body)
	}
	stream, err := client.Ids(ctx, &openapi.IdsParams{Count: as[int64](3)}, accept("application/x-ndjson")) // a caller reads a stream itself
	if err != nil {
		t.Fatal(err)
	}
	lines, err := io.ReadAll(stream.Body)
	if _ = stream.Body.Close(); err != nil || bytes.Count(lines, []byte(`{"id":"`)) != 3 {
		t.Errorf("as a stream: %s, %v", lines, err)
	}
	span := openapi.BoundsParams{From: "2026-05-01", To: "now"}
	for _, editors := range [][]openapi.RequestEditorFn{nil, {put}, {wrong}} {
		for _, reply := range []any{
			ids(openapi.IdsParams{}, editors...), runs(openapi.RunsParams{}, editors...), decode(first[0], openapi.DecodeParams{}, editors...), cluster(editors...),
			ready(openapi.ReadyzParams{Verbose: as("")}, editors...), must(t)(client.BoundsWithResponse(ctx, &span, editors...)),
			must(t)(client.StatusWithResponse(ctx, editors...)), must(t)(client.LayoutWithResponse(ctx, editors...)),
			must(t)(client.OpenapiWithResponse(ctx, editors...)), must(t)(client.LivezWithResponse(ctx, editors...)),
		} {
			want := http.StatusOK
			if len(editors) > 0 {
				want = map[bool]int{true: http.StatusMethodNotAllowed, false: http.StatusBadRequest}[reflect.ValueOf(editors[0]).Pointer() == reflect.ValueOf(put).Pointer()]
			}
			if got := reply.(interface{ StatusCode() int }).StatusCode(); got != want {
				t.Errorf("%T has the status %d, want %d", reply, got, want)
			}
		}
	}
	ready(openapi.ReadyzParams{}, accept("application/json"))
	slow := as("slow")
	for range 2 {
		if r := ids(openapi.IdsParams{Count: as[int64](100), Tenant: slow}); r.ApplicationproblemJSON429 != nil {
			slow = nil
		}
	}
	if slow != nil {
		t.Error("a tenant gets IDs above its rate")
	}
	socket.CloseIdleConnections() // a connection that was refused waits before it is again
	runs(openapi.RunsParams{Count: as[int64](100), Tenant: as("slow")})

	// A pod is told nothing of the node; and a loop that hangs is seen.
	pod, err := openapi.NewClientWithResponses("http://localhost", openapi.WithHTTPClient(&http.Client{
		Transport: &document{doc.T, doc.router, dialing(t, filepath.Join(c.Socket.Pods, "a", "socket", "flakeward.sock")), doc.used},
	}))
	if err != nil {
		t.Fatal(err)
	}
	if got := must(t)(pod.StatusWithResponse(ctx)).(*openapi.StatusResponse).ApplicationproblemJSON403; got == nil || got.Code != "not-here" {
		t.Errorf("a pod's /v1/status: %v", got)
	}
	if got := must(t)(pod.ClusterWithResponse(ctx)).(*openapi.ClusterResponse).ApplicationproblemJSON403; got == nil || got.Code != "not-here" {
		t.Errorf("a pod's /v1/cluster: %v", got)
	}
	round.Lock()
	goOn := sync.OnceFunc(round.Unlock)
	t.Cleanup(goOn) // or the daemon would not end
	hangs, err := net.Dial("unix", d.Config.Socket.Path)
	if err == nil {
		_, err = io.WriteString(hangs, "INFO\r\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the loop hangs", func() *openapi.LivezResponse { return must(t)(client.LivezWithResponse(ctx)).(*openapi.LivezResponse) },
		func(r *openapi.LivezResponse) bool { return r.StatusCode() == http.StatusServiceUnavailable })
	goOn()
	_ = hangs.Close()

	// The clock steps ahead, and is followed; is right again; all marks are raised, an hour ahead; the
	// coordinator goes.
	member := func() openapi.Member {
		ids(openapi.IdsParams{}) // a daemon that nobody asks publishes rarely
		if got := cluster().JSON200; got != nil && len(got.Members) > 0 {
			return got.Members[0]
		}
		return openapi.Member{}
	}
	clock.by.Add(int64(time.Hour))
	until(t, "the clock is held", member, func(m openapi.Member) bool {
		return m.State == openapi.Held && m.ClockHeldSince != nil && m.ClockCondition != nil
	})
	until(t, "the clock is followed", member, func(m openapi.Member) bool { return m.State == openapi.Granted })
	clock.by.Add(-int64(time.Hour))
	now := until(t, "the clock is back, below what was issued", member, func(m openapi.Member) bool {
		return m.State == openapi.Granted && m.UntilTick != nil && *m.UntilTick > m.CeilingTick
	})
	operator, err := connect.Operate(ctx, connect.Config{URL: c.Cluster.Coord})
	if err != nil {
		t.Fatal(err)
	}
	defer operator.Close() // nothing depends on it
	if _, err := operator.Inspect(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.Raise(ctx, generator.Tick(now.CeilingTick)+generator.Tick(time.Hour/time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	until(t, "the marks are raised", member, func(m openapi.Member) bool { return m.State == openapi.Waiting })
	until(t, "no ID can be had", func() *openapi.IdsResponse { return ids(openapi.IdsParams{}) }, func(r *openapi.IdsResponse) bool {
		return r.ApplicationproblemJSON503 != nil && r.Headers503 != nil && r.Headers503.RetryAfter != nil
	})
	runs(openapi.RunsParams{})
	ready(openapi.ReadyzParams{})
	if got := ready(openapi.ReadyzParams{}, accept("application/json")).JSON503; got == nil || len(got.Conditions) == 0 {
		t.Errorf("/readyz: %v", got)
	}
	etcd.StopAll()
	until(t, "the coordinator is gone", func() *openapi.ClusterResponse { return cluster() }, func(r *openapi.ClusterResponse) bool { return r.ApplicationproblemJSON503 != nil })

	all := doc.all()
	for name := range all {
		if !doc.used[name] {
			t.Errorf("no client has used %s", name)
		}
	}
}

// dialing speaks HTTP on a socket.
func dialing(t *testing.T, path string) *http.Transport {
	socket := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(socket.CloseIdleConnections)
	return socket
}

// podOf makes the directory of pods' sockets, with a pod's.
func podOf(t *testing.T, c daemon.Config) string {
	t.Helper()
	pods := filepath.Join(filepath.Dir(c.Socket.Path), "pods")
	err := os.MkdirAll(filepath.Join(pods, "a", "socket"), 0o755)
	if err = errors.Join(err, os.WriteFile(filepath.Join(pods, "a", "user"), []byte("n/p"), 0o644)); err != nil {
		t.Fatal(err)
	}
	return pods
}

// must returns a reply that the client could read.
func must(t *testing.T) func(reply any, err error) any {
	return func(reply any, err error) any {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		read(t, reply)
		return reply
	}
}
