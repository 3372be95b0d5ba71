package rest

import (
	"net/http"

	"github.com/flakeward/flakeward/daemon/resp"
)

// other makes the route of a handler that knows nothing of requests and problems.
func other(name string, h http.Handler) *route {
	return &route{name: name, anything: true, serve: func(_ *Server, q *request) {
		w := &watchedReply{ResponseWriter: q.w, held: func(int) bool { return false }}
		if h.ServeHTTP(w, q.r); w.status >= http.StatusBadRequest {
			q.code = resp.Refuse(resp.Unavailable, "").Code
		}
	}}
}

// watchedReply passes a reply on, unless its status is one that is held back.
type watchedReply struct {
	http.ResponseWriter
	held   func(status int) bool
	status int // 0: none was written
}

// Unwrap is for http.ResponseController.
func (w *watchedReply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *watchedReply) WriteHeader(status int) {
	if w.status = status; !w.held(status) {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (w *watchedReply) Write(b []byte) (int, error) {
	if w.held(w.status) {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *watchedReply) Flush() {
	if !w.held(w.status) {
		_ = http.NewResponseController(w.ResponseWriter).Flush() // the connection is gone
	}
}
