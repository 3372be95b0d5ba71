package rest

import (
	"context"
	"net/http"
	"strings"

	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/tally"
)

// CountCall counts a remote procedure call, or a message of one: what its method is called and how
// it ended.
func (c Config) CountCall(ctx context.Context, method, code string) {
	c.SeenCall(ctx)
	if c.Count != nil {
		c.Count.Request(method, code)
	}
}

// SeenCall says that the call which ctx is of is counted by its messages.
func (c Config) SeenCall(ctx context.Context) {
	if of, ok := ctx.Value(clientKey{}).(*client); ok {
		of.seen = true
	}
}

// MethodOf is what the method of a call's path is counted as.
func MethodOf(path string) string {
	switch {
	case strings.HasPrefix(path, "/grpc.health."):
		return "health"
	case strings.HasPrefix(path, "/grpc.reflection."):
		return tally.Other
	}
	return strings.ToLower(path[strings.LastIndexByte(path, '/')+1:])
}

// call has a remote procedure call answered. One that is refused before it comes to its method is
// counted here, and told what to do.
func (s *Server) call(w http.ResponseWriter, r *http.Request, of *client) {
	of.seen = false
	held := func(status int) bool {
		return callWants[status] != "" || status == http.StatusNotFound || status == http.StatusMethodNotAllowed
	}
	reply := &watchedReply{ResponseWriter: w, held: held}
	s.config.RPC.ServeHTTP(reply, r)
	if of.seen {
		return
	}
	q, method := &request{s: s, w: w, r: r, client: of, at: &route{}}, MethodOf(r.URL.Path)
	switch {
	case r.Context().Err() != nil:
		q.code = Gone
	case !held(reply.status):
		q.code = resp.Refuse(resp.BadCall, "").Code
	case reply.status == http.StatusNotFound:
		q.refuse(resp.Refuse(resp.UnknownPath, resp.Shown(r.URL.Path)))
		method = tally.Other
	case reply.status == http.StatusMethodNotAllowed:
		q.refuse(resp.Refuse(resp.WrongMethod, resp.Shown(r.Method), http.MethodPost))
	default:
		p := problemOf(resp.Refuse(resp.BadCall, callWants[reply.status]))
		p.Status, p.Title = reply.status, http.StatusText(reply.status)
		q.fail(p)
	}
	if s.config.Count != nil {
		s.config.Count.Request(method, q.code)
	}
}

// callWants says what a call has to be, by the status of those that are not.
var callWants = map[int]string{
	http.StatusUnsupportedMediaType:    "send application/json, application/proto, application/grpc or application/grpc-web as Content-Type",
	http.StatusHTTPVersionNotSupported: "use HTTP/2, which a method in both directions needs",
}
