package rest

import (
	"net/http"
	"strings"

	"github.com/flakeward/flakeward/daemon/resp"
)

// other makes the route of a handler that knows nothing of requests and problems.
func other(name string, h http.Handler) *route {
	return &route{name: name, anything: true, serve: func(_ *Server, q *request) {
		w := &errorHeld{ResponseWriter: q.w}
		if h.ServeHTTP(w, q.r); w.failed() {
			q.fail(w.problem())
		}
	}}
}

// mostHeld is how much is kept of the text of an error, in bytes.
const mostHeld = 512

// errorHeld passes a reply on, unless it is an error: that becomes a problem.
type errorHeld struct {
	http.ResponseWriter
	status int // 0: none was written
	text   []byte
}

func (w *errorHeld) failed() bool { return w.status >= http.StatusBadRequest }

// WriteHeader implements http.ResponseWriter.
func (w *errorHeld) WriteHeader(status int) {
	if w.status = status; !w.failed() {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (w *errorHeld) Write(b []byte) (int, error) {
	if !w.failed() {
		return w.ResponseWriter.Write(b)
	}
	w.text = append(w.text, b[:min(len(b), mostHeld-len(w.text))]...)
	return len(b), nil
}

// problem is the error. The handler itself has said when to try again.
func (w *errorHeld) problem() Problem {
	kind := resp.Unavailable
	if w.status == http.StatusForbidden {
		kind = resp.NotHere
	}
	refusal := resp.Refuse(kind)
	refusal.Text = oneLine(strings.TrimSpace(string(w.text)))
	p := problemOf(refusal)
	p.Status, p.Title, p.retry = w.status, http.StatusText(w.status), 0
	return p
}
