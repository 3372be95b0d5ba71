package rpc

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// retried has calls of gRPC that get nothing but an error answered by one block of headers
// ("Trailers-Only"). A client tries those again, as its policy says; one that has seen headers
// apart from trailers does not.
func retried(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if of := r.Header.Get("Content-Type"); r.ProtoMajor != 2 || of != "application/grpc" && !strings.HasPrefix(of, "application/grpc+") {
			h.ServeHTTP(w, r)
			return
		}
		reply := &whole{ResponseWriter: w}
		h.ServeHTTP(reply, r)
		reply.end()
	})
}

// whole holds back a reply that has no body yet.
type whole struct {
	http.ResponseWriter
	code  int  // 0: none was written
	begun bool // something of it was sent
}

// Unwrap is for http.ResponseController.
func (w *whole) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *whole) WriteHeader(code int) { w.code = code }

func (w *whole) begin() {
	if !w.begun && w.code != 0 {
		w.ResponseWriter.WriteHeader(w.code)
	}
	w.begun = true
}

// Write implements http.ResponseWriter.
func (w *whole) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

// Flush sends what there is, unless that is the reply's end: then end sends all in one.
func (w *whole) Flush() {
	if !w.begun && w.Header().Get(http.TrailerPrefix+"Grpc-Status") != "" {
		return
	}
	w.begin()
	_ = http.NewResponseController(w.ResponseWriter).Flush() // the connection is gone
}

// end is called once the handler has ended.
func (w *whole) end() {
	if w.begun {
		return
	}
	h := w.Header()
	for _, key := range slices.Collect(maps.Keys(h)) {
		if name, trailer := strings.CutPrefix(key, http.TrailerPrefix); trailer {
			h[http.CanonicalHeaderKey(name)] = h[key]
			delete(h, key)
		}
	}
	delete(h, "Trailer") // nothing follows
	w.begin()
}
