// Package page serves the daemon's page for browsers: static files. Their script asks the API for
// the figures and makes the page of them, so the daemon renders nothing and keeps no history.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"net/http"
	"time"
)

//go:embed index.html style.css script.js icon.svg
var files embed.FS

// policy allows the page its own files and the API, and nothing else: no script or style within the
// page, nothing of another host, no frame around it.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Handlers are those of the page's paths.
func Handlers() map[string]http.Handler {
	return map[string]http.Handler{
		"/":               serve("index.html", "text/html; charset=utf-8"),
		"/page/style.css": serve("style.css", "text/css; charset=utf-8"),
		"/page/script.js": serve("script.js", "text/javascript; charset=utf-8"),
		"/page/icon.svg":  serve("icon.svg", "image/svg+xml"),
	}
}

// serve answers with a file. A browser asks each time whether it has changed.
func serve(name, kind string) http.Handler {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the program was built without it
	}
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256(text))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for field, value := range map[string]string{
			"Content-Type": kind, "ETag": tag, "Cache-Control": "no-cache", "Content-Security-Policy": policy,
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			w.Header().Set(field, value)
		}
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
	})
}
