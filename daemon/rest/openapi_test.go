package rest

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/flakeward/flakeward/internal/must"
)

// openAPI loads the document, as it is served.
func openAPI(t *testing.T, s *site) (*openapi3.T, routers.Router) {
	t.Helper()
	reply, body := s.do(t, "GET", "/v1/openapi.json")
	if reply.StatusCode != 200 {
		t.Fatal(reply.Status)
	}
	doc := must.Get(openapi3.NewLoader().LoadFromData([]byte(body)))(t)
	must.Do(t, doc.Validate(t.Context()))
	router := must.Get(legacy.NewRouter(doc))(t)
	return doc, router
}

func TestTheDocumentHasEveryPathAndParameter(t *testing.T) {
	s := start(t, "twitter", nil)
	doc, _ := openAPI(t, s)
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
			for kind := range bodies {
				properties := item.Post.RequestBody.Value.Content[kind].Schema.Value.Properties
				if got := slices.Sorted(maps.Keys(properties)); !slices.Equal(got, slices.Sorted(slices.Values(at.params))) {
					t.Errorf("%s has the parameters %q in a body of %s", path, got, kind)
				}
			}
		}
	}
	if got := doc.Paths.Len(); got != len(all) {
		t.Errorf("the document has %d paths, the code %d", got, len(all))
	}
}

// Each reply is as the document says, and each path and status that it has is seen.
func TestRepliesAreAsTheDocumentSays(t *testing.T) {
	openapi3filter.RegisterBodyDecoder("application/x-ndjson", openapi3filter.RegisteredBodyDecoder("text/plain"))
	s := start(t, "time=41@1ms,datacenter=2,worker=8,tenant=4,sequence=8;epoch=2020-01-01", nil)
	_, router := openAPI(t, s)
	for _, tt := range []struct{ method, path, accept string }{
		{"POST", "/v1/ids?count=3&tenant=1", ""}, {"POST", "/v1/ids?as=base62", "text/plain"}, {"POST", "/v1/ids?count=0", ""}, {"POST", "/v1/runs?count=3", ""}, {"GET", "/v1/ids/9007199254740992", ""},
		{"GET", "/v1/ids?count=3&tenant=1", ""}, {"GET", "/v1/ids", "text/plain"}, {"GET", "/v1/ids?count=2", "application/x-ndjson"}, {"GET", "/v1/ids?count=0", ""},
		{"GET", "/v1/runs?count=3", ""}, {"GET", "/v1/ids/123456789", ""}, {"GET", "/v1/ids/00000000000?as=base62", ""}, {"GET", "/v1/ids?as=hex", ""}, {"GET", "/v1/ids?as=octal", ""}, {"GET", "/v1/ids/x", ""}, {"GET", "/v1/bounds?from=2026-01-01&to=now", ""}, {"GET", "/v1/bounds?from=x&to=y", ""},
		{"GET", "/v1/status", ""}, {"GET", "/v1/layout", ""}, {"GET", "/v1/openapi.json", ""}, {"GET", "/livez", ""},
		{"GET", "/readyz", ""}, {"GET", "/readyz?verbose", ""}, {"GET", "/readyz", "application/json"},
	} {
		r := must.Get(http.NewRequest(tt.method, "http://localhost"+tt.path, nil))(t)
		if tt.accept != "" {
			r.Header.Set("Accept", tt.accept)
		}
		route, params, err := router.FindRoute(r)
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		reply, body := s.do(t, tt.method, tt.path, "Accept", tt.accept)
		err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
			Status:                 reply.StatusCode, Header: reply.Header, Body: io.NopCloser(bytes.NewBufferString(body)),
			Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
		})
		if err != nil {
			t.Errorf("%s: %s: %v", tt.path, body, err)
		}
	}
}
