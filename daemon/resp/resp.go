// Package resp speaks the Redis protocol (RESP2, RESP3 and inline commands) on bytes: requests in,
// replies out.
//
// It knows no sockets. A Handler is given what a connection has sent and a buffer to append replies
// to; it says how much it used and what the connection should do next: read on, write first, wait,
// or close. A request that has to wait for IDs therefore holds up nothing but its own connection.
//
// The protocol is described at https://redis.io/docs/latest/develop/reference/protocol-spec/.
package resp

import (
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/layouts"
)

// Source issues IDs; *issue.Issuer is one. Take never blocks.
type Source interface {
	// Take takes up to n IDs for tenant, for the request that c has begun. A run without IDs comes
	// with what to do instead.
	Take(c *issue.Connection, tenant uint32, n int) (generator.Run, issue.Wait)
}

// Config is what a Handler answers from.
type Config struct {
	Source  Source
	Layout  *generator.Layout
	Info    func() info.Info // what INFO shows; called for each INFO, must not block; nil: nothing
	Version string           // of the server, for HELLO
	Form    form.Form        // of the IDs on a connection that has not chosen one by FORM
	// Coder writes IDs in their forms. It is asked for each request, must not block, and knows the
	// cluster before the first ID is issued; nil: there are no UUIDs.
	Coder func() *form.Coder
	// Rounds is told of a session that gets integers which its client rounds; nil: nobody is.
	Rounds func(*Session)
	Limits Limits
	// Password checks what AUTH and HELLO give. Who came by an address runs nothing else before it
	// was accepted; nil: none is needed.
	Password func(password []byte) bool
	// Count is where the handler counts, whenever Publish is called; nil: a table of its own.
	Count *tally.Table
}

// Limits bound what one connection may ask for at once. A value of 0 stands for its default.
type Limits struct {
	Count   int // IDs in one request; default 65,536
	Inline  int // bytes of an inline command, without its line end; default 64 KiB
	Bulk    int // bytes of one argument; default 4 KiB
	Args    int // arguments of one request, the command's name included; default 1,024
	Request int // bytes of one request; default 64 KiB
	Output  int // bytes of replies after which Serve asks for a write; default 64 KiB

	Transaction int // bytes of all requests between MULTI and EXEC; default 1 MiB
}

// Default values of Limits.
const (
	DefaultCount   = 65536
	DefaultInline  = 64 << 10
	DefaultBulk    = 4 << 10
	DefaultArgs    = 1024
	DefaultRequest = 64 << 10
	DefaultOutput  = 64 << 10

	DefaultTransaction = 1 << 20
)

// OrDefaults is l with each 0 replaced by its default.
func (l Limits) OrDefaults() Limits {
	for _, v := range []struct {
		value *int
		or    int
	}{
		{&l.Count, DefaultCount}, {&l.Inline, DefaultInline}, {&l.Bulk, DefaultBulk},
		{&l.Args, DefaultArgs}, {&l.Request, DefaultRequest}, {&l.Output, DefaultOutput},
		{&l.Transaction, DefaultTransaction},
	} {
		if *v.value <= 0 {
			*v.value = v.or
		}
	}
	return l
}

// State is what a connection should do after a call of Serve.
type State uint8

const (
	Read  State = iota // send the replies, then go on with what the client sends next
	Write              // send the replies, then call Serve again: there is more to answer already
	Wait               // send the replies, then call Serve again after Next.For or at the next change
	Close              // send the replies, then close
)

// Next is a State with its details.
type Next struct {
	State State
	For   time.Duration // with Wait: how long until IDs are to be had; 0: not known
	Event bool          // with Wait: IDs may be had earlier, after a change at the issuer
	// InTurn is issue.Wait's: above 0, Serve need not be called before the source names the
	// request.
	InTurn time.Duration
}

// Session is the state of one connection. Its zero value with an ID and a peer is a connection
// that has just been opened.
type Session struct {
	ID   int64                // of the connection, as CLIENT ID and HELLO tell it
	Peer peercred.Credentials // who opened it

	name   []byte // set by CLIENT SETNAME
	resp3  bool
	closes bool
	known  bool      // its password was accepted
	chosen bool      // form was set by FORM
	form   form.Form // of its IDs, if chosen
	rounds uint8     // which client it is of those that round integers; 0: none, or it was said
	work   work

	channels    [][]byte     // that it has subscribed to
	transaction *Transaction // since MULTI, until all of it has run; otherwise nil
}

// Held is how much the session keeps of its requests, in bytes.
func (s *Session) Held() int {
	held := 0
	for _, c := range s.channels {
		held += cap(c)
	}
	return held + cap(s.name) + 16*cap(s.work.taken) + s.transaction.Held()
}

// Arrived tells the source that requests have come behind the session's present one.
func (s *Session) Arrived(source interface{ Arrived(*issue.Connection) }) {
	source.Arrived(&s.work.issue)
}

// SetOwner says whose the session is: the Owner of its issue.Connection.
func (s *Session) SetOwner(owner any) { s.work.issue.Owner = owner }

// Handler answers requests. It holds scratch space, so it must not be used by two goroutines at
// once; Sessions may be handled by it in any order.
type Handler struct {
	config   Config // its Limits are complete
	commands *commands
	parser   parser
	queued   parser // of transactions
	times    string // the format of the times that DECODE shows
	ids      forms
	tenants  uint64 // the highest tenant
	counts   counts
	output   int // bytes of replies after which Serve asks for a write
	extra    int // bytes that the requests of this Serve count for besides their replies
}

// NewHandler makes a handler for any number of sessions.
func NewHandler(c Config) *Handler {
	c.Limits = c.Limits.OrDefaults()
	if c.Count == nil {
		c.Count = &tally.Table{}
	}
	return &Handler{
		counts: newCounts(c.Count, allCommands.numbered),
		config: c, commands: &allCommands, parser: parser{limits: c.Limits}, queued: parser{limits: unlimited},
		output: c.Limits.Output, times: layouts.TimeFormat(c.Layout), ids: newForms(c.Coder, c.Layout.Step()), tenants: c.Layout.Max(generator.Tenant),
	}
}

// Shorten has h.Serve ask for a write after so many bytes of replies, up to Limits.Output; 0: after
// that many.
func Shorten(h *Handler, output int) {
	if h.output = output; output <= 0 || output > h.config.Limits.Output {
		h.output = h.config.Limits.Output
	}
}

// takeRoom, refusalRoom and infoRoom count as bytes of replies for each taking of IDs, each refusal
// and each INFO: that work takes as long as writing so many bytes of IDs.
const (
	takeRoom    = 64
	refusalRoom = 512
	infoRoom    = 8 << 10
)

// Serve answers the requests at the beginning of in, which must begin with what the calls before
// did not use, and appends the replies to out. It returns how many bytes of in it is done with, and
// what to do next. After Close it must not be called again.
func (h *Handler) Serve(s *Session, in, out []byte) (used int, replies []byte, next Next) {
	h.extra = 0
	for {
		if s.work.kind != idle {
			if out, next = h.proceed(s, out); next.State != Read {
				return used, out, next
			}
			// A request that was here before the last one was answered has waited as long.
			s.work.done(used < len(in) || s.transaction.more())
		}
		executing := s.transaction != nil && s.transaction.Executing
		if used == len(in) && !executing {
			return used, out, Next{}
		}
		room := h.output - len(out) - h.extra
		if room <= 0 {
			return used, out, Next{State: Write}
		}
		if executing {
			out = h.execute(s, out, room)
			continue
		}
		if s.transaction == nil && !h.locked(s) {
			if n := beginNexts(h, s, in[used:], room); n > 0 {
				used += n * len(plainNext)
				continue
			}
		}
		args, n, refusal := h.parser.parse(in[used:])
		if refusal != nil {
			h.counts.command = otherCommand
			return len(in), h.refuse(out, refusal), Next{State: Close}
		}
		if n == 0 {
			s.work.issue.Begin() // what has not come whole has not waited
			return used, out, Next{}
		}
		request := in[used : used+n]
		used += n
		if len(args) == 0 {
			continue
		}
		if out = h.run(s, args, out); s.closes {
			return used, out, Next{State: Close}
		}
		if s.work.kind == singles {
			n := leading(request, in[used:], (h.output-len(out))/widths[s.work.form])
			s.work.left += n
			used += n * len(request)
		}
	}
}

// run answers one request, or leaves its work in the session.
func (h *Handler) run(s *Session, args [][]byte, out []byte) []byte {
	c, ok := h.commands.find(args[0])
	h.counts.command = otherCommand
	if h.locked(s) && !(ok && c.opens) {
		return h.refuse(out, Refuse(NoAuth))
	}
	if !ok {
		return h.refuseQueued(s, out, unknown(args[0]))
	}
	h.counts.command = c.number
	if n := len(args) - 1; n < c.min || c.max >= 0 && n > c.max {
		return h.refuseQueued(s, out, Refuse(WrongArguments, c.name, c.usage()))
	}
	if s.transaction != nil && !c.direct {
		return h.enqueue(s, args, out)
	}
	return do(h, c, s, args[1:], out)
}

// do runs a command. What is left of it in the session is counted when that is done.
func do(h *Handler, c numbered, s *Session, args [][]byte, out []byte) []byte {
	h.counts.command, h.counts.refused = c.number, false
	out = c.run(h, s, args, out)
	switch {
	case s.work.kind != idle:
		s.work.command = c.number
	case !h.counts.refused:
		h.counts.served(c.number, 1)
	}
	return out
}

func (h *Handler) refuse(out []byte, r *Refusal) []byte {
	h.extra += refusalRoom
	h.counts.refuse(r.Code)
	return r.Append(out)
}
