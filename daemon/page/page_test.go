package page_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/page"
	"github.com/flakeward/flakeward/daemon/rest"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/must"
)

// ask sends a request to a server that has the page's paths.
func ask(t *testing.T, method, path string, fields ...string) (*http.Response, string) {
	t.Helper()
	s := rest.New(rest.Config{More: page.Handlers(), Status: func() info.Info { return nil }, Clock: clockguard.System{}})
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost/", nil)
	r.URL.Path = path
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	reply := w.Result()
	return reply, string(must.Get(io.ReadAll(reply.Body))(t))
}

// The browser loads the page's own files alone: nothing of another host, and no script within it.
func TestTheFilesAreServedWithAStrictPolicy(t *testing.T) {
	for path, kind := range map[string]string{"/": "text/html", "/page/style.css": "text/css", "/page/script.js": "text/javascript", "/page/icon.svg": "image/svg+xml"} {
		reply, text := ask(t, http.MethodGet, path)
		if reply.StatusCode != http.StatusOK || !strings.HasPrefix(reply.Header.Get("Content-Type"), kind) || len(text) < 100 {
			t.Errorf("%s: %s, %q, %d bytes", path, reply.Status, reply.Header.Get("Content-Type"), len(text))
		}
		policy := reply.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, want) || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: the policy is %q", path, policy)
			}
		}
		if reply.Header.Get("X-Content-Type-Options") != "nosniff" || reply.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %v", path, reply.Header)
		}
		for _, never := range []string{"innerHTML", "style=", "onclick", "//cdn", "eval("} {
			if strings.Contains(text, never) {
				t.Errorf("%s has %s", path, never)
			}
		}
	}
}

func TestAFileIsSentOnce(t *testing.T) {
	first, _ := ask(t, http.MethodGet, "/page/script.js")
	tag := first.Header.Get("ETag")
	if again, text := ask(t, http.MethodGet, "/page/script.js", "If-None-Match", tag); again.StatusCode != http.StatusNotModified || text != "" || tag == "" {
		t.Errorf("with the tag %q: %s, %d bytes", tag, again.Status, len(text))
	}
	if other, _ := ask(t, http.MethodGet, "/", "If-None-Match", tag); other.StatusCode != http.StatusOK {
		t.Errorf("another file, with that tag: %s", other.Status)
	}
}

func TestThePageIsReadOnlyAndHasNoOtherFiles(t *testing.T) {
	for _, path := range []string{"/", "/page/script.js"} {
		if reply, _ := ask(t, http.MethodPost, path); reply.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %s", path, reply.Status)
		}
		if reply, _ := ask(t, http.MethodHead, path); reply.StatusCode != http.StatusOK {
			t.Errorf("HEAD %s: %s", path, reply.Status)
		}
	}
	for _, path := range []string{"/page/", "/page/page.go", "/page/../page.go", "/page/..%2fpage.go", "/page/index.html", "/page/script.js/", "//", "/index.html"} {
		if reply, text := ask(t, http.MethodGet, path); reply.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s: %.60s", path, reply.Status, text)
		}
	}
}
