package page

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"golang.org/x/net/html"
)

// elements are those of the page with that ID and form.
func elements(t testing.TB, h http.Handler, id, as string) (all []string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/", RawQuery: url.Values{"id": {id}, "as": {as}}.Encode()}, Header: http.Header{}})
	if w.Code != http.StatusOK || w.Header().Get("Content-Security-Policy") == "" {
		t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	in := html.NewTokenizer(w.Body)
	for kind := in.Next(); kind != html.ErrorToken; kind = in.Next() {
		if token := in.Token(); kind == html.StartTagToken || kind == html.SelfClosingTagToken {
			all = append(all, token.Data)
			for _, a := range token.Attr {
				if a.Key != "value" && a.Key != "selected" {
					all = append(all, a.Key+"="+a.Val)
				}
			}
		}
	}
	return all
}

// What is asked of the page is shown as text: the page has the elements that it has for any other word
// which is no ID.
func FuzzPage(f *testing.F) {
	for _, seed := range []string{"118141963665735680", "<script>alert(1)</script>", `"><img src=x onerror=y>`, "'; --", "\x00\xff", "javascript:x", "{{.}}"} {
		f.Add(seed, "")
		f.Add("1", seed)
	}
	h := newStage(f).Handlers()["/"]
	want := elements(f, h, "word", "")
	f.Fuzz(func(t *testing.T, id, as string) {
		if id == "" || id == "118141963665735680" {
			elements(t, h, id, as)
			return
		}
		if got := elements(t, h, id, as); !slices.Equal(got, want) {
			t.Errorf("%q as %q: the elements are\n%q, want\n%q", id, as, got, want)
		}
	})
}
