package daemon_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
)

// What a real daemon replies is as the document says that it serves.
func TestADaemonRepliesAsItsDocumentSays(t *testing.T) {
	web := overSocket(t, daemontest.Start(t, daemontest.Config(t.TempDir())))
	_, text := get(t, web, "/v1/openapi.json")
	doc := must.Get(openapi3.NewLoader().LoadFromData([]byte(text)))(t)
	router := must.Get(legacy.NewRouter(doc))(t)
	for _, path := range []string{"/v1/ids?count=3", "/v1/runs?count=5000", "/v1/status", "/v1/cluster", "/v1/layout", "/readyz"} {
		r := must.Get(http.NewRequest(http.MethodGet, "http://localhost"+path, nil))(t)
		route, params, err := router.FindRoute(r)
		must.Do(t, err)
		reply, body := get(t, web, path, "Accept", "application/json")
		err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route},
			Status:                 reply.StatusCode, Header: reply.Header, Body: io.NopCloser(bytes.NewBufferString(body)),
			Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
		})
		if err != nil || reply.StatusCode != 200 {
			t.Errorf("%s: %s: %v", path, body, err)
		}
	}
}
