package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/await"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/tenant"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

const everyService = "leaf, tinyid,uid-generator"

// compat has the paths of all services served.
func compat(t testing.TB, c *Config) {
	t.Helper()
	c.Compat = must.Get(Compat(everyService))(t)
}

const (
	jsonOfSpring = "application/json;charset=UTF-8"
	textOfSpring = "text/plain;charset=UTF-8"
)

func TestServicesAreAnsweredInTheirForm(t *testing.T) {
	s := start(t, "twitter", func(c *Config) { compat(t, c); c.MaxCount = 5 })
	// 667648 is 163<<12, and 163 is datacenter 5 and worker 3.
	for _, tt := range []struct {
		path   string
		status int
		kind   string
		body   string
		taken  int64
	}{
		{"/api/snowflake/get/order", 200, textOfSpring, "100", 1},
		{"/api/segment/get/order", 200, textOfSpring, "100", 1},
		{"/api/segment/get/order?unknown=1", 200, textOfSpring, "100", 1},
		{"/api/segment/get/", 500, textOfSpring, "there is nothing at '/api/segment/get/': /v1/openapi.json has the paths, and --compat those of other services", 0},
		{"/decodeSnowflakeId?snowflakeId=4195003", 200, jsonOfSpring, `{"timestamp":"1288834974658(2010-11-04 01:42:54.658)","sequenceId":"699","workerId":"0"}`, 0},
		{"/decodeSnowflakeId?snowflakeId=667648", 200, jsonOfSpring, `{"timestamp":"1288834974657(2010-11-04 01:42:54.657)","sequenceId":"0","workerId":"163"}`, 0},
		{"/tinyid/id/nextId?bizType=test&token=0f67", 200, jsonOfSpring, `{"data":[100],"code":200,"message":""}`, 1},
		{"/tinyid/id/nextId?bizType=test&token=0f67&batchSize=3", 200, jsonOfSpring, `{"data":[100,101,102],"code":200,"message":""}`, 3},
		{"/tinyid/id/nextId?bizType=test&batchSize=2147483647", 200, jsonOfSpring, `{"data":[100,101,102,103,104],"code":200,"message":""}`, 5},
		{"/tinyid/id/nextId?bizType=test&batchSize=", 200, jsonOfSpring, `{"data":[100],"code":200,"message":""}`, 1},
		{"/tinyid/id/nextId?bizType=test&batchSize=0", 200, jsonOfSpring, `{"data":[],"code":200,"message":""}`, 0},
		{"/tinyid/id/nextId?bizType=test&batchSize=-1", 200, jsonOfSpring, `{"data":[],"code":200,"message":""}`, 0},
		{"/tinyid/id/nextId", 200, jsonOfSpring, `{"data":null,"code":5,"message":"there is no tenant '': give its name as bizType"}`, 0},
		{"/tinyid/id/nextId?bizType=test&batchSize=x", 400, jsonOfSpring, `{"timestamp":"*","status":400,"error":"Bad Request","message":"the parameter batchSize is wrong: it is not a whole number below 2^31","path":"/tinyid/id/nextId"}`, 0},
		{"/tinyid/id/nextIdSimple?bizType=test&token=0f67", 200, textOfSpring, "100", 1},
		{"/tinyid/id/nextIdSimple?bizType=test&batchSize=3", 200, textOfSpring, "100,101,102", 3},
		{"/tinyid/id/nextIdSimple?bizType=test&batchSize=0", 200, textOfSpring, "", 0},
		{"/tinyid/id/nextIdSimple", 200, textOfSpring, "", 0},
		{"/testGet", 200, jsonOfSpring, "100", 1},
		{"/testParse/4861643", 200, textOfSpring, `{"UID":"4861643","timestamp":"2010-11-04 01:42:54","workerId":"162","sequence":"3787"}`, 0},
		{"/testParse/6", 200, textOfSpring, `{"UID":"6","timestamp":"2010-11-04 01:42:54","workerId":"0","sequence":"6"}`, 0},
		{"/testGet?%zz", 400, jsonOfSpring, `{"timestamp":"*","status":400,"error":"Bad Request","message":"the parameter list is wrong: it is not as in a URL","path":"/testGet"}`, 0},
	} {
		s.reset()
		reply, body := s.do(t, "GET", tt.path)
		if reply.StatusCode != tt.status || reply.Header.Get("Content-Type") != tt.kind || timeless(body) != tt.body || reply.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s %s", tt.path, reply.StatusCode, reply.Header, body)
		}
		if taken := s.taken(); taken != tt.taken {
			t.Errorf("%s took %d IDs", tt.path, taken)
		}
		s.reset()
		if reply, body := s.do(t, "HEAD", tt.path); reply.StatusCode/100 != tt.status/100 || body != "" || s.taken() != 0 {
			t.Errorf("HEAD %s: %s, %q, %d IDs", tt.path, reply.Status, body, s.taken())
		}
	}
	for path, want := range map[string]string{ // of which the text is another's
		"/decodeSnowflakeId?snowflakeId=x": `{"errorMsg":"`, "/decodeSnowflakeId": `{"errorMsg":"`, "/testParse/x": `{"timestamp":"*","status":400,"error":"Bad Request","message":"`,
	} {
		if _, body := s.do(t, "GET", path); !strings.HasPrefix(timeless(body), want) {
			t.Errorf("%s: %s", path, body)
		}
	}
	for _, path := range []string{"/api/segment/get/a/b", "/testParse/1/2", "/testParse", "/api/other/get/a"} {
		if reply, _ := s.do(t, "GET", path); reply.StatusCode != 404 {
			t.Errorf("%s: %s", path, reply.Status)
		}
	}
	if reply, body := s.do(t, "POST", "/testGet"); reply.StatusCode != 405 || reply.Header.Get("Allow") == "" || !strings.Contains(body, `"error":"Method Not Allowed"`) {
		t.Errorf("POST: %s %s", reply.Status, body)
	}
}

// reset has IDs begin at 100 again.
func (s *store) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = 100
}

func (s *store) taken() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next - 100
}

// timeless is a reply in which a time of day with an offset is a star.
func timeless(body string) string {
	const before = `{"timestamp":"`
	if rest, ok := strings.CutPrefix(body, before); ok {
		at, after, _ := strings.Cut(rest, `"`)
		if _, err := time.Parse("2006-01-02T15:04:05.000-07:00", at); err == nil {
			return before + `*"` + after
		}
	}
	return body
}

// What keeps IDs from being issued is an error in the service's form, and counted by its code.
func TestServicesTellWhyThereIsNoID(t *testing.T) {
	s := start(t, "twitter", func(c *Config) { compat(t, c) })
	s.set(0, &issue.UnavailableError{Reason: errors.New("no disk"), For: 1500 * time.Millisecond})
	failed := int64(0)
	for path, want := range map[string]struct {
		status     int
		kind, body string
	}{
		"/api/snowflake/get/a": {500, textOfSpring, "no disk"}, "/api/segment/get/a": {500, textOfSpring, "no disk"},
		"/tinyid/id/nextId?bizType=a": {200, jsonOfSpring, `{"data":null,"code":6,"message":"`}, "/tinyid/id/nextIdSimple?bizType=a": {200, textOfSpring, ""},
		"/testGet": {500, jsonOfSpring, `{"timestamp":"*","status":500,"error":"Internal Server Error","message":"`},
	} {
		reply, body := s.do(t, "GET", path)
		fits := strings.HasPrefix(timeless(body), want.body)
		if want.kind == textOfSpring {
			fits = strings.Contains(body, want.body) && (want.body == "") == (body == "")
		}
		if reply.StatusCode != want.status || reply.Header.Get("Content-Type") != want.kind || !fits || reply.Header.Get("Retry-After") != "2" {
			t.Errorf("%s: %s %s %s", path, reply.Status, reply.Header, body)
		}
		if failed++; s.errors.Load() != failed {
			t.Errorf("%s is not counted as failed", path)
		}
	}
}

// A request that is not for this address is told so in the service's form, and new IDs are known as
// such.
func TestServicesAreRefusedAsIDsWhereThereAreNone(t *testing.T) {
	s := start(t, "twitter", func(c *Config) {
		compat(t, c)
		c.Unserved = func(_ *http.Request, ids bool) *resp.Refusal {
			if ids {
				return resp.Refuse(resp.NotHere, "an ID", "the socket")
			}
			return nil
		}
	})
	for path, want := range map[string]int{
		"/v1/ids": 403, "/v1/runs": 403, "/v1/ids/1": 200, "/v1/layout": 200, "/decodeSnowflakeId?snowflakeId=1": 200, "/testParse/1": 200,
		"/api/segment/get/a": 403, "/api/snowflake/get/a": 403, "/tinyid/id/nextId?bizType=a": 403, "/tinyid/id/nextIdSimple?bizType=a": 403, "/testGet": 403,
	} {
		reply, body := sockettest.Ask(t, s.client, "GET", "http://f"+path) // the document is of the other address
		if reply.StatusCode != want {
			t.Errorf("%s: %s %s", path, reply.Status, body)
		}
		if want == 403 && !strings.HasPrefix(path, "/v1") && !strings.Contains(body, `"status":403,"error":"Forbidden","message":"an ID is not served here`) {
			t.Errorf("%s: %s", path, body)
		}
	}
}

func TestKeysOfServicesAreTenants(t *testing.T) {
	var asked []uint32
	s := start(t, "time=41@1ms,datacenter=2,worker=8,tenant=4,sequence=8;epoch=2020-01-01", func(c *Config) {
		compat(t, c)
		c.Tenants = must.Get(tenant.New(c.Layout, []tenant.Tenant{{Name: "orders", ID: 3}}))(t)
		c.Take = &noting{c.Take, &asked}
	})
	for _, tt := range []struct {
		path   string
		tenant int // -1: refused
		status int
		body   string // that a refusal has
	}{
		{"/api/segment/get/orders", 3, 200, ""}, {"/api/segment/get/other", -1, 500, "there is no tenant 'other'"}, {"/api/segment/get/order", -1, 500, "did you mean 'orders'?"},
		{"/api/snowflake/get/orders", 3, 200, ""}, {"/api/snowflake/get/other", 0, 200, ""},
		{"/tinyid/id/nextId?bizType=orders", 3, 200, ""}, {"/tinyid/id/nextId?bizType=other", -1, 200, `"code":5,"message":"there is no tenant 'other'`}, {"/tinyid/id/nextId?bizType=7", 7, 200, ""},
		{"/tinyid/id/nextId?bizType=16", -1, 200, `"code":5,`}, {"/tinyid/id/nextIdSimple?bizType=other", -1, 200, ""}, {"/testGet", 0, 200, ""},
	} {
		asked = nil
		reply, body := s.do(t, "GET", tt.path)
		if got := len(asked) == 1 && int(asked[0]) == tt.tenant || len(asked) == 0 && tt.tenant < 0; !got || reply.StatusCode != tt.status || !strings.Contains(body, tt.body) {
			t.Errorf("%s: %s %s, for the tenants %v", tt.path, reply.Status, body, asked)
		}
	}
}

// noting notes for which tenant IDs are taken.
type noting struct {
	Taker
	asked *[]uint32
}

func (n *noting) Take(ctx context.Context, c *issue.Connection, tenant uint32, count int, as form.Form, room []generator.Run) ([]generator.Run, error) {
	*n.asked = append(*n.asked, tenant)
	return n.Taker.Take(ctx, c, tenant, count, as, room)
}

func TestServicesAreOffUnlessNamed(t *testing.T) {
	s := start(t, "twitter", func(c *Config) { c.Compat = []string{"tinyid"} })
	for path, want := range map[string]int{"/tinyid/id/nextId?bizType=a": 200, "/api/segment/get/a": 404, "/testGet": 404, "/decodeSnowflakeId": 404} {
		if reply, body := s.do(t, "GET", path); reply.StatusCode != want || want == 404 && !strings.Contains(body, "urn:flakeward:unknown-path") {
			t.Errorf("%s: %s %s", path, reply.Status, body)
		}
	}
	for text, want := range map[string]int{"": 0, " ": 0, "leaf": 1, everyService: 3, "Leaf": -1, "leaf,": -1, "cosid": -1} {
		names, err := Compat(text)
		if (err != nil) != (want < 0) || err == nil && len(names) != want {
			t.Errorf("%q: %q, %v", text, names, err)
		}
		if err != nil && !strings.Contains(err.Error(), "leaf, tinyid, uid-generator") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestThePageHasEveryPathOfEveryService(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/http.md"))(t)
	for name, paths := range services {
		for path := range paths {
			if !strings.Contains(string(text), "| `"+name+"` | `"+path) {
				t.Errorf("docs/http.md does not have %s of %s", path, name)
			}
		}
	}
}

func FuzzCompat(f *testing.F) {
	layout := must.Get(generator.ParseLayout("time=41@1ms,datacenter=2,worker=8,tenant=4,sequence=8;epoch=2020-01-01"))(f)
	tenants := must.Get(tenant.New(layout, []tenant.Tenant{{Name: "orders", ID: 3}}))(f)
	for _, seed := range []string{"/api/segment/get/", "/api/snowflake/get/", "/decodeSnowflakeId", "/tinyid/id/nextId", "/tinyid/id/nextIdSimple", "/testGet", "/testParse/"} {
		for _, key := range []string{"", "orders", "7", "-1", "9223372036854775807", "\r\n\"<"} {
			f.Add("GET", seed+key, "bizType=orders&batchSize=3&snowflakeId=99999999")
			f.Add("HEAD", seed, "bizType="+key+"&batchSize="+key+"&snowflakeId="+key)
		}
	}
	f.Fuzz(func(t *testing.T, method, path, query string) {
		source := &store{left: 1 << 40, most: 1000}
		c := Config{Take: await.New(source, clockguard.System{}, &counts{}), Layout: layout, Tenants: tenants, MaxCount: 1000, Clock: clockguard.System{}}
		compat(t, &c)
		s := New(c)
		at := s.routes[path]
		if at == nil {
			at = s.routes[path[:strings.LastIndexByte(path, '/')+1]]
		}
		if at == nil || at.fail == nil {
			return
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}, ProtoMajor: 1})
		body := w.Body.Bytes()
		switch kind := w.Header().Get("Content-Type"); {
		case w.Code == http.StatusNoContent && method == "OPTIONS":
		case method == "HEAD":
			if len(body) > 0 {
				t.Errorf("HEAD: %q", body)
			}
		case kind == jsonOfSpring:
			if !json.Valid(body) {
				t.Errorf("no JSON: %q", body)
			}
		case kind != textOfSpring:
			t.Errorf("%d %q: %q", w.Code, kind, body)
		}
		if issued := method == "GET" && w.Code == http.StatusOK; !issued && source.next != 0 {
			t.Errorf("%d IDs were taken for %s that was refused with %d", source.next, method, w.Code)
		}
		if source.next > 1000 {
			t.Errorf("%d IDs were taken at once", source.next)
		}
	})
}
