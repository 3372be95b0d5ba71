package rest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/await"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/must"
)

func FuzzRequest(f *testing.F) {
	layout := must.Get(generator.ParseLayout("twitter"))(f)
	for _, seed := range []string{"/v1/ids", "/v1/runs", "/v1/ids/1541815603606036480", "/v1/bounds", "/v1/status", "/", "/v1/ids//"} {
		for _, query := range []string{"", "count=3", "count=0&count=1", "tenant=1", "from=now&to=now", "%zz", "a;b"} {
			f.Add("GET", seed, query, "text/plain", "", "")
		}
	}
	f.Add("POST", "/v1/ids", "", "text/plain", "application/json", `{"count":3,"_":"x"}`)
	f.Add("POST", "/v1/ids", "as=base62", "", "application/json", `{"count":[3]}`)
	f.Add("POST", "/v1/runs", "_=1", "", "application/x-www-form-urlencoded; charset=utf-8", "count=3&tenant=0")
	f.Fuzz(func(t *testing.T, method, path, query, accept, kind, sent string) {
		source := &store{left: 1 << 40, most: 1000}
		s := New(Config{
			Take: await.New(source, clockguard.System{}, &counts{}), Layout: layout, MaxCount: 1000, Clock: clockguard.System{},
			Status: func() info.Info { return nil },
		})
		w := httptest.NewRecorder()
		s.ServeHTTP(w, &http.Request{
			Method: method, URL: &url.URL{Path: path, RawQuery: query}, Header: http.Header{"Accept": {accept}, "Content-Type": {kind}}, ProtoMajor: 1,
			Body: io.NopCloser(strings.NewReader(sent)), ContentLength: int64(len(sent)),
		})
		replied, body := w.Header().Get("Content-Type"), w.Body.Bytes()
		switch {
		case w.Code == http.StatusNoContent && method == "OPTIONS":
		case w.Code == http.StatusOK:
			if method == "GET" && replied == "application/json" && !json.Valid(body) {
				t.Errorf("no JSON: %q", body)
			}
		default:
			var p Problem
			if method != "HEAD" && (json.Unmarshal(body, &p) != nil || p.Status != w.Code || p.Code == "" || strings.ContainsAny(p.Detail, "\r\n")) {
				t.Errorf("%d: %q", w.Code, body)
			}
			if source.next != 0 {
				t.Errorf("%d IDs were taken for what was refused", source.next)
			}
		}
		if method != "GET" && method != "POST" && source.next != 0 {
			t.Errorf("%d IDs were taken for %s", source.next, method)
		}
	})
}
