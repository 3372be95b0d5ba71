package rest

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
)

// client is a connection. The requests of HTTP/1 come one after the other, and use it in turn.
type client struct {
	issue issue.Connection
	who   peercred.Credentials
	from  conn // nil: nobody counts what the connection takes
	room  []byte
	runs  []generator.Run
	held  int  // bytes that are kept for the request that is under way,
	reply int  // and those of its reply among them
	seen  bool // it is a call, which its method has counted
}

// conn is a connection that is counted for.
type conn interface {
	Hold(by int) // so many bytes more are kept for requests of it; below 0: fewer
}

func (c *client) hold(by int) {
	if c.from != nil {
		c.from.Hold(by)
		c.held += by
	}
}

// replies says how many bytes are kept for the reply. A small one is part of what is kept for each
// connection.
func (c *client) replies(n int) {
	if n > c.reply && n > keptRoom {
		c.hold(n - c.reply)
		c.reply = n
	}
}

// release is called once the request has ended.
func (c *client) release() {
	if c.held != 0 {
		c.hold(-c.held)
	}
	c.reply = 0
}

// client finds whose a request is. One of HTTP/2 has a client of its own, as it comes beside others
// of its connection, and what it takes is counted until release.
func (s *Server) client(r *http.Request) (*http.Request, *client) {
	of, _ := r.Context().Value(clientKey{}).(*client)
	size := len(r.URL.Path) + len(r.URL.RawQuery)
	for name, values := range r.Header {
		for _, value := range values {
			size += fieldBytes + len(name) + len(value)
		}
	}
	if of != nil && r.ProtoMajor == 1 {
		if size > keptRoom { // else it is part of what is kept for each connection
			of.hold(size)
		}
		return r, of
	}
	of = s.config.asker(r.Context())
	of.hold(streamBytes + size)
	return r.WithContext(context.WithValue(r.Context(), clientKey{}, of)), of
}

// fieldBytes is what a field of a header takes besides its bytes.
const fieldBytes = 100

type clientKey struct{}

// UserOf is whose a request is that a Server has passed on.
func UserOf(r *http.Request) queue.User {
	if of, ok := r.Context().Value(clientKey{}).(*client); ok {
		return of.issue.User
	}
	return queue.User{UID: queue.Nobody}
}

// meet makes what is kept of a connection.
func (s *Server) meet(ctx context.Context, c net.Conn) context.Context {
	of := &client{issue: issue.Connection{User: queue.User{UID: queue.Nobody}}}
	if known, ok := c.(interface {
		Client() (id int64, who peercred.Credentials)
	}); ok {
		_, who := known.Client()
		of.who, of.issue.User = who, issue.UserOf(who)
	}
	of.from, _ = c.(conn)
	return context.WithValue(ctx, clientKey{}, of)
}

// request is one.
type request struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	client *client
	at     *route     // that it is for
	params url.Values // nil: there are none
	code   string     // of the reply
}

// asker is a client of its own, for requests that come beside others of their connection.
func (c *Config) asker(ctx context.Context) *client {
	if of, ok := ctx.Value(clientKey{}).(*client); ok {
		return &client{issue: issue.Connection{User: of.issue.User}, who: of.who, from: of.from}
	}
	return &client{issue: issue.Connection{User: queue.User{UID: queue.Nobody}}}
}

// unserved is why a request that came by an address is not answered; nil: it is.
func (s *Server) unserved(of *client, r *http.Request, ids bool) *resp.Refusal {
	if s.config.Unserved == nil || !of.who.Address.IsValid() {
		return nil
	}
	return s.config.Unserved(r, ids)
}

// parse reads the parameters. jQuery and others add one named _ with a number that is new each
// time, so that nobody remembers a reply.
func (q *request) parse() *resp.Refusal {
	if q.r.URL.RawQuery == "" && !q.posted() {
		return nil
	}
	params, err := url.ParseQuery(q.r.URL.RawQuery)
	if err != nil {
		return resp.Refuse(resp.WrongParameter, "list", "it is not as in a URL")
	}
	if q.posted() {
		if refusal := q.readBody(params); refusal != nil {
			return refusal
		}
	}
	for name, values := range params {
		switch {
		case q.at.anything, name == "_":
		case !slices.Contains(q.at.params, name):
			return resp.Refuse(resp.UnknownParameter, resp.Shown(name), use(q.at.params))
		case len(values) > 1:
			return resp.Refuse(resp.WrongParameter, name, "it is given twice")
		}
	}
	q.params = params
	return nil
}

func use(params []string) string {
	if len(params) == 0 {
		return "none"
	}
	return strings.Join(params, ", ")
}

// wanted are whose IDs are asked for, and how many.
func (q *request) wanted() (tenant uint32, count int, refusal *resp.Refusal) {
	count = 1
	if q.params.Has("count") {
		count, refusal = resp.Count(q.s.config.MaxCount, []byte(q.params.Get("count")))
	}
	if refusal == nil && q.params.Has("tenant") {
		tenant, refusal = q.s.config.tenant(q.params.Get("tenant"))
	}
	return tenant, count, refusal
}

func (c *Config) tenant(text string) (uint32, *resp.Refusal) {
	return resp.Tenant(c.Layout.Max(generator.Tenant), []byte(text))
}
