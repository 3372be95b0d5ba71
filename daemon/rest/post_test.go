package rest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

const (
	formType = "application/x-www-form-urlencoded"
	jsonType = "application/json"
)

// unsized hides the length of a body: over HTTP/1 it goes in chunks.
type unsized struct{ io.Reader }

func post(t *testing.T, c *http.Client, path, kind, accept string, body io.Reader) (*http.Response, string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://f"+path, body))(t)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	r.Header.Set("Accept", accept)
	reply := must.Get(c.Do(r))(t)
	defer reply.Body.Close() // it has been read
	text := string(must.Get(io.ReadAll(reply.Body))(t))
	documented(t, r, reply, text)
	return reply, text
}

// A framework that remembers the reply of a GET does not remember that of a POST.
func TestAPostIsAnsweredAsAGet(t *testing.T) {
	s := start(t, "time=41@1ms,worker=10,tenant=4,sequence=8;epoch=2020-01-01", nil)
	for _, tt := range []struct {
		path, kind, body string
		accept           string
		want             string
	}{
		{"/v1/ids", "", "", "", `{"ids":["0"]}` + "\n"},
		{"/v1/ids?count=2&_=1764273600000&_=2", "", "", "", `{"ids":["0","1"]}` + "\n"},
		{"/v1/ids?count=2&tenant=3&as=base62", "", "", "text/plain", "00000000000\n00000000001\n"},
		{"/v1/ids", formType, "count=2&as=base62", "", `{"ids":["00000000000","00000000001"]}` + "\n"},
		{"/v1/ids?as=base62", formType + "; charset=UTF-8", "count=2", "", `{"ids":["00000000000","00000000001"]}` + "\n"},
		{"/v1/ids", "Application/JSON;charset=utf-8", ` {"count": 2, "tenant": "3", "_": 17} `, "", `{"ids":["0","1"]}` + "\n"},
		{"/v1/ids", jsonType, `{"count":"2"}`, "text/plain", "0\n1\n"},
		{"/v1/ids", jsonType, `{}`, "", `{"ids":["0"]}` + "\n"},
		{"/v1/ids", "multipart/form-data", "", "", `{"ids":["0"]}` + "\n"},
		{"/v1/runs?count=2", "", "", "", `{"step":"1","runs":[{"first":"0","count":2}]}` + "\n"},
		{"/v1/runs", jsonType, `{"count":2,"tenant":3}`, "", `{"step":"1","runs":[{"first":"0","count":2}]}` + "\n"},
	} {
		for _, client := range []*http.Client{s.client, sockettest.HTTP(t, s.path, true)} {
			for _, body := range []io.Reader{strings.NewReader(tt.body), unsized{strings.NewReader(tt.body)}} {
				_, chunked := body.(unsized)
				s.next = 0
				reply, got := post(t, client, tt.path, tt.kind, tt.accept, body)
				if reply.StatusCode != 200 || got != tt.want || reply.Header.Get("Cache-Control") != "no-store" || reply.Close && !chunked {
					t.Errorf("%s with %q: %s %q %v, want %q", tt.path, tt.body, reply.Status, got, reply.Header, tt.want)
				}
			}
		}
	}
}

// A body that is not understood takes no ID: what is left out of account would be other IDs than
// were asked for.
func TestABodyThatIsNotUnderstoodIsRefused(t *testing.T) {
	s := start(t, "twitter", nil)
	for _, tt := range []struct {
		kind, body string
		status     int
		code       string
		detail     string
	}{
		{"", "count=3", 415, "wrong-type", "the body is of the type ''"},
		{"text/plain;charset=UTF-8", `{"count":3}`, 415, "wrong-type", "the type 'text/plain;charset=UTF-8'"},
		{"multipart/form-data; boundary=x", "--x--", 415, "wrong-type", "application/json or " + formType},
		{"a/b/c;;", "x", 415, "wrong-type", "a/b/c;;"},
		{formType, "count=%zz", 400, "bad-body", "%zz"},
		{formType, "count=3&count=4", 400, "wrong-parameter", "it is given twice"},
		{formType, "tenant=0&tenant=0", 400, "wrong-parameter", "it is given twice"},
		{formType, "counts=3", 400, "unknown-parameter", "counts"},
		{formType, "count=" + strings.Repeat("0", mostBody), 400, "bad-body", "more than 4096 bytes"},
		{jsonType, `3`, 400, "bad-body", "it is no JSON object"},
		{jsonType, `["count"]`, 400, "bad-body", "it is no JSON object"},
		{jsonType, `{"count":3`, 400, "bad-body", "EOF"},
		{jsonType, `{"count":3}{}`, 400, "bad-body", "something follows"},
		{jsonType, `{"count":{}}`, 400, "bad-body", "count is neither a string nor a number"},
		{jsonType, `{"count":null}`, 400, "bad-body", "count is neither a string nor a number"},
		{jsonType, `{"count":true}`, 400, "bad-body", "count is neither a string nor a number"},
		{jsonType, `{count:3}`, 400, "bad-body", "invalid character 'c'"},
		{jsonType, `{"count":3,"count":4}`, 400, "wrong-parameter", "it is given twice"},
		{jsonType, `{"count":3.0}`, 400, "bad-count", "3.0"},
		{jsonType, `{"counts":3}`, 400, "unknown-parameter", "counts"},
	} {
		for _, client := range []*http.Client{s.client, sockettest.HTTP(t, s.path, true)} {
			for _, body := range []io.Reader{strings.NewReader(tt.body), unsized{strings.NewReader(tt.body)}} {
				reply, text := post(t, client, "/v1/ids", tt.kind, "", body)
				var p Problem
				if err := json.Unmarshal([]byte(text), &p); err != nil || reply.StatusCode != tt.status || p.Code != tt.code || !strings.Contains(p.Detail, tt.detail) {
					t.Errorf("%s %q: %s %s (%v)", tt.kind, tt.body, reply.Status, text, err)
				}
			}
		}
	}
	if reply, text := post(t, s.client, "/v1/ids?count=3", formType, "", strings.NewReader("count=3")); reply.StatusCode != 400 || !strings.Contains(text, "it is given twice") {
		t.Errorf("in the URL and the body: %s %s", reply.Status, text)
	}
	if s.next != 0 {
		t.Errorf("%d IDs were taken", s.next)
	}
}

// jQuery's parameter against caches is ignored wherever there are parameters.
func TestAParameterAgainstCachesIsIgnored(t *testing.T) {
	s := start(t, "twitter", nil)
	for _, path := range []string{"/v1/ids?_=1", "/v1/runs?count=2&_=1", "/v1/ids/5?_=1&_=2", "/v1/bounds?from=2026-01-01&to=2027-01-01&_=1", "/v1/status?_=1", "/v1/layout?_", "/readyz?_=1"} {
		if reply, body := s.do(t, "GET", path); reply.StatusCode != 200 {
			t.Errorf("%s: %s %s", path, reply.Status, body)
		}
	}
}
