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
	"github.com/flakeward/flakeward/generator"
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
	Info    func() []Section // what INFO shows; called for each INFO, must not block; nil: nothing
	Version string           // of the server, for HELLO
	Limits  Limits
}

// Limits bound what one connection may ask for at once. A value of 0 stands for its default.
type Limits struct {
	Count   int // IDs in one request; default 65,536
	Inline  int // bytes of an inline command, without its line end; default 64 KiB
	Bulk    int // bytes of one argument; default 4 KiB
	Args    int // arguments of one request, the command's name included; default 1,024
	Request int // bytes of one request; default 64 KiB
	Output  int // bytes of replies after which Serve asks for a write; default 64 KiB
}

// Default values of Limits.
const (
	DefaultCount   = 65536
	DefaultInline  = 64 << 10
	DefaultBulk    = 4 << 10
	DefaultArgs    = 1024
	DefaultRequest = 64 << 10
	DefaultOutput  = 64 << 10
)

// OrDefaults is l with each 0 replaced by its default.
func (l Limits) OrDefaults() Limits {
	for _, v := range []struct {
		value *int
		or    int
	}{
		{&l.Count, DefaultCount}, {&l.Inline, DefaultInline}, {&l.Bulk, DefaultBulk},
		{&l.Args, DefaultArgs}, {&l.Request, DefaultRequest}, {&l.Output, DefaultOutput},
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
}

// Tally counts what a Handler has done. Its owner may read it between two calls.
type Tally struct {
	Requests uint64 // complete requests, refused ones included
	IDs      uint64 // IDs replied with
	Errors   uint64 // requests that were refused
}

// Session is the state of one connection. Its zero value with an ID is a connection that has just
// been opened.
type Session struct {
	ID int64 // of the connection, as CLIENT ID and HELLO tell it

	name   []byte // set by CLIENT SETNAME
	resp3  bool
	closes bool
	work   work
}

// Handler answers requests. It holds scratch space, so it must not be used by two goroutines at
// once; Sessions may be handled by it in any order.
type Handler struct {
	config   Config // its Limits are complete
	commands *commands
	parser   parser
	times    string // the format of the times that DECODE shows
	step     int64
	tenants  uint64 // the highest tenant
	line     line   // of the last ID
	tally    Tally
}

// NewHandler makes a handler for any number of sessions.
func NewHandler(c Config) *Handler {
	c.Limits = c.Limits.OrDefaults()
	return &Handler{
		config: c, commands: &allCommands, parser: parser{limits: c.Limits},
		times: timeFormat(c.Layout), step: c.Layout.Step(), tenants: c.Layout.Max(generator.Tenant),
	}
}

// Tally is what has been done so far.
func (h *Handler) Tally() Tally { return h.tally }

// Serve answers the requests at the beginning of in, which must begin with what the calls before
// did not use, and appends the replies to out. It returns how many bytes of in it is done with, and
// what to do next. After Close it must not be called again.
func (h *Handler) Serve(s *Session, in, out []byte) (used int, replies []byte, next Next) {
	for {
		if s.work.kind != idle {
			if out, next = h.proceed(s, out); next.State != Read {
				return used, out, next
			}
			// A request that was here before the last one was answered has waited as long.
			s.work.done(used < len(in))
		}
		if used == len(in) {
			return used, out, Next{}
		}
		room := h.config.Limits.Output - len(out)
		if room <= 0 {
			return used, out, Next{State: Write}
		}
		if n := leadingNexts(in[used:], 1+room/widestID); n > 0 {
			used += n * len(plainNext)
			h.tally.Requests += uint64(n)
			s.work.begin(singles, n, 0)
			continue
		}
		args, n, refusal := h.parser.parse(in[used:])
		if refusal != nil {
			h.tally.Requests++
			return len(in), h.refuse(out, refusal), Next{State: Close}
		}
		if n == 0 {
			return used, out, Next{}
		}
		used += n
		if len(args) == 0 {
			continue
		}
		h.tally.Requests++
		if out = h.run(s, args, out); s.closes {
			return used, out, Next{State: Close}
		}
	}
}

// run answers one request, or leaves its work in the session.
func (h *Handler) run(s *Session, args [][]byte, out []byte) []byte {
	c, ok := h.commands.find(args[0])
	if !ok {
		return h.refuse(out, Refuse(UnknownCommand, shown(args[0])))
	}
	if n := len(args) - 1; n < c.min || c.max >= 0 && n > c.max {
		return h.refuse(out, Refuse(WrongArguments, c.name, c.usage()))
	}
	return c.run(h, s, args[1:], out)
}

func (h *Handler) refuse(out []byte, r *Refusal) []byte {
	h.tally.Errors++
	return r.Append(out)
}
