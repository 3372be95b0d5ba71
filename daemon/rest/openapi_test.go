package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/flakeward/flakeward/internal/must"
)

// openAPI is the document, loaded, and what finds a request's part of it.
var openAPI = sync.OnceValues(func() (*openapi3.T, routers.Router) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		panic(err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		panic(err)
	}
	return doc, router
})

// documented wants a reply to be one that the document has: its status, type, headers and body.
// What the document has no path for is not looked at, nor is a reply without a body.
func documented(t *testing.T, sent *http.Request, reply *http.Response, body string) {
	t.Helper()
	_, router := openAPI()
	r := must.Get(http.NewRequest(sent.Method, "http://localhost"+sent.URL.RequestURI(), nil))(t)
	r.Header = sent.Header
	route, params, err := router.FindRoute(r)
	if errors.Is(err, routers.ErrMethodNotAllowed) {
		r.Method = http.MethodGet // whose replies have the status of a wrong method
		route, params, err = router.FindRoute(r)
	}
	if err != nil || sent.Method == http.MethodHead || reply.StatusCode == http.StatusNoContent {
		return
	}
	err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
		Status:                 reply.StatusCode, Header: reply.Header, Body: io.NopCloser(strings.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
	if err != nil {
		t.Errorf("%s %s: %s is not as the document says: %v", sent.Method, sent.URL.Path, body, err)
	}
}

// TestTheDocumentIsServed: the document is valid, and what is served is the one that replies are
// compared with.
func TestTheDocumentIsServed(t *testing.T) {
	reply, body := start(t, "twitter", nil).do(t, "GET", "/v1/openapi.json")
	if reply.StatusCode != 200 || body != string(document) {
		t.Errorf("%s: %.80s", reply.Status, body)
	}
	doc, _ := openAPI()
	must.Do(t, doc.Validate(t.Context()))
}

// TestEveryNumberHasAFormat: without one a generated client reads a number of 64 bits into 32.
func TestEveryNumberHasAFormat(t *testing.T) {
	var look func(where string, value any)
	look = func(where string, value any) {
		switch v := value.(type) {
		case map[string]any:
			if kind := v["type"]; (kind == "integer" || kind == "number") && v["format"] == nil {
				t.Errorf("%s: the number has no format", where)
			}
			for key := range v {
				look(where+"/"+key, v[key])
			}
		case []any:
			for i := range v {
				look(fmt.Sprint(where, "/", i), v[i])
			}
		}
	}
	var all any
	must.Do(t, json.Unmarshal(document, &all))
	look("", all)
}

func TestTheDocumentHasEveryPathAndParameter(t *testing.T) {
	s := start(t, "twitter", nil)
	doc, _ := openAPI()
	all := map[string]*route{}
	for path, at := range s.server.routes {
		if path == decodePath {
			path += "{id}"
		}
		all[path] = at
	}
	for path, at := range all {
		item := doc.Paths.Find(path)
		if item == nil {
			t.Errorf("%s is not in the document", path)
			continue
		}
		var params []string
		for _, p := range item.Get.Parameters {
			if p.Value.In == "query" {
				params = append(params, p.Value.Name)
			}
		}
		if !slices.Equal(params, at.params) || item.Get.OperationID != at.name {
			t.Errorf("%s is %s with %q in the document, %s with %q in the code", path, item.Get.OperationID, params, at.name, at.params)
		}
		if at.posts != (item.Post != nil) {
			t.Errorf("%s takes a POST: %v, which the document does not have so", path, at.posts)
		} else if at.posts {
			if !reflect.DeepEqual(item.Post.Parameters, item.Get.Parameters) {
				t.Errorf("%s has other parameters with POST", path)
			}
			properties := item.Post.RequestBody.Value.Content[formType].Schema.Value.Properties
			if got := slices.Sorted(maps.Keys(properties)); !slices.Equal(got, slices.Sorted(slices.Values(at.params))) {
				t.Errorf("%s has the parameters %q in a form", path, got)
			}
		}
	}
	if got := doc.Paths.Len(); got != len(all) {
		t.Errorf("the document has %d paths, the code %d", got, len(all))
	}
}

// Each kind of reply that the document has is asked for; do compares it with the document.
func TestRepliesAreAsTheDocumentSays(t *testing.T) {
	s := start(t, "time=41@1ms,datacenter=2,worker=8,tenant=4,sequence=8;epoch=2020-01-01", nil)
	for _, tt := range []struct{ method, path, accept string }{
		{"POST", "/v1/ids?count=3&tenant=1", ""}, {"POST", "/v1/ids?as=base62", "text/plain"}, {"POST", "/v1/ids?count=0", ""}, {"POST", "/v1/runs?count=3", ""}, {"GET", "/v1/ids/9007199254740992", ""},
		{"GET", "/v1/ids?count=3&tenant=1", ""}, {"GET", "/v1/ids", "text/plain"}, {"GET", "/v1/ids?count=0", ""},
		{"GET", "/v1/runs?count=3", ""}, {"GET", "/v1/ids/123456789", ""}, {"GET", "/v1/ids/00000000000?as=base62", ""}, {"GET", "/v1/ids?as=uuid", ""}, {"GET", "/v1/ids?as=octal", ""}, {"GET", "/v1/ids/x", ""}, {"GET", "/v1/bounds?from=2026-01-01&to=now", ""}, {"GET", "/v1/bounds?from=x&to=y", ""},
		{"GET", "/v1/status", ""}, {"GET", "/v1/layout", ""}, {"GET", "/v1/openapi.json", ""}, {"GET", "/livez", ""},
		{"GET", "/readyz", ""}, {"GET", "/readyz?verbose", ""}, {"GET", "/readyz", "application/json"},
	} {
		s.do(t, tt.method, tt.path, "Accept", tt.accept)
	}
}
