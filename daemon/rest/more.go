package rest

import (
	"net/http"
	"strings"

	"github.com/flakeward/flakeward/daemon/resp"
)

// other makes the route of a handler that knows nothing of requests and problems.
func other(name string, h http.Handler) *route {
	return &route{name: name, anything: true, serve: func(_ *Server, q *request) {
		w := &heldReply{ResponseWriter: q.w, is: func(status int) bool { return status >= http.StatusBadRequest }}
		if h.ServeHTTP(w, q.r); w.status != 0 {
			q.fail(w.problem())
		}
	}}
}

// mostHeld is how much is kept of the text of an error, in bytes.
const mostHeld = 512

// heldReply passes a reply on, unless its status is that of an error which becomes a problem.
type heldReply struct {
	http.ResponseWriter
	is     func(status int) bool // such an error
	status int                   // of it; 0: there was none
	text   []byte                // of it
}

// Unwrap is for http.ResponseController.
func (w *heldReply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *heldReply) WriteHeader(status int) {
	if w.is(status) {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *heldReply) Write(b []byte) (int, error) {
	if w.status == 0 {
		return w.ResponseWriter.Write(b)
	}
	w.text = append(w.text, b[:min(len(b), mostHeld-len(w.text))]...)
	return len(b), nil
}

// Flush implements http.Flusher.
func (w *heldReply) Flush() {
	if w.status == 0 {
		_ = http.NewResponseController(w.ResponseWriter).Flush() // the connection is gone
	}
}

// problem is the error. The handler itself has said when to try again.
func (w *heldReply) problem() Problem {
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
