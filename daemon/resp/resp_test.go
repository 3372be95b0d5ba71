package resp_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/must"
)

// ticks is a Source that counts up, and gives only so many IDs at a time: then the request has to
// wait once.
type ticks struct {
	next   int64
	each   int // IDs in a tick; 0: any number
	left   int
	err    error
	tenant uint32 // of the last request
	asked  int    // calls
}

func (s *ticks) Take(_ *issue.Connection, tenant uint32, n int) (generator.Run, issue.Wait) {
	s.tenant = tenant
	s.asked++
	if s.err != nil {
		return generator.Run{}, issue.Wait{Err: s.err}
	}
	if s.each > 0 {
		if s.left == 0 {
			s.left = s.each
			return generator.Run{}, issue.Wait{For: time.Millisecond, Event: true}
		}
		n = min(n, s.left)
		s.left -= n
	}
	run := generator.Run{First: s.next, N: n}
	s.next += int64(n)
	return run, issue.Wait{}
}

func layout(tb testing.TB, text string) *generator.Layout {
	tb.Helper()
	return must.Get(generator.ParseLayout(text))(tb)
}

func handler(tb testing.TB, source resp.Source, text string, limits resp.Limits) *resp.Handler {
	tb.Helper()
	return resp.NewHandler(resp.Config{
		Source: source, Layout: layout(tb, text), Version: "1.2.3", Limits: limits,
		Info: func() info.Info {
			return info.Info{
				{Name: "Server", Entries: []info.Entry{{Key: "version", Value: "1.2.3"}, {Key: "host", Value: "a\r\nb"}}},
				{Name: "Clock", Entries: []info.Entry{{Key: "steps", Value: "0"}}},
			}
		},
	})
}

// client does with a handler what a connection does.
type client struct {
	handler *resp.Handler
	session resp.Session
	in, out []byte
	closed  bool
	waits   int
	writes  int
	longest int // bytes appended by one call
}

// send feeds bytes, and goes on until the handler wants more. A wait is over at once.
func (c *client) send(b []byte) {
	if c.closed {
		return
	}
	c.in = append(c.in, b...)
	for {
		used, replies, next := c.handler.Serve(&c.session, c.in, nil)
		c.in = c.in[used:]
		c.out = append(c.out, replies...)
		c.longest = max(c.longest, len(replies))
		switch next.State {
		case resp.Read:
			return
		case resp.Close:
			c.closed = true
			return
		case resp.Wait:
			c.waits++
		case resp.Write:
			c.writes++
		}
	}
}

// ask is what a new connection gets for the bytes.
func ask(h *resp.Handler, in string) (out string, closed bool) {
	c := client{handler: h, session: resp.Session{ID: 7}}
	c.send([]byte(in))
	return string(c.out), c.closed
}

func TestReplies(t *testing.T) {
	const hello3 = "%7\r\n$6\r\nserver\r\n$9\r\nflakeward\r\n$7\r\nversion\r\n$5\r\n1.2.3\r\n$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:7\r\n" +
		"$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
	hello2 := strings.Replace(strings.Replace(hello3, "%7", "*14", 1), ":3", ":2", 1)
	const decoded = "$2\r\nid\r\n:1541815603606036480\r\n$4\r\ntime\r\n$24\r\n2022-06-28T16:07:40.105Z\r\n$4\r\ntick\r\n:367597485448\r\n" +
		"$10\r\ndatacenter\r\n:11\r\n$6\r\nworker\r\n:26\r\n$8\r\nsequence\r\n:0\r\n"
	const rounded = "$14\r\nmay_be_rounded\r\n:1\r\n"
	for _, c := range []struct{ in, out string }{
		{"*1\r\n$4\r\nNEXT\r\n", ":100\r\n"},
		{"*1\r\n$4\r\nneXt\r\n", ":100\r\n"},
		{"*1\r\n$4\r\nNEXT\r\n*1\r\n$4\r\nNEXT\r\nNEXT\r\n", ":100\r\n:101\r\n:102\r\n"},
		{"NEXT\r\n", ":100\r\n"},
		{"next\n", ":100\r\n"},
		{"NEXT 1\r\n", "*1\r\n:100\r\n"},
		{"NEXT 3\r\n", "*3\r\n:100\r\n:101\r\n:102\r\n"},
		{"*2\r\n$4\r\nNEXT\r\n$1\r\n3\r\nPING\r\n", "*3\r\n:100\r\n:101\r\n:102\r\n+PONG\r\n"},
		{"NEXT TENANT 0\r\n", ":100\r\n"},
		{"NEXT 2 tenant 0\r\n", "*2\r\n:100\r\n:101\r\n"},
		{"RUN 5000\r\n", "*3\r\n:1\r\n:100\r\n:5000\r\n"},
		{"run 2 TENANT 0\r\n", "*3\r\n:1\r\n:100\r\n:2\r\n"},
		{"DECODE 1541815603606036480\r\n", "*14\r\n" + decoded + rounded},
		{"DECODE 1541815603606036481\r\n", "*12\r\n" + strings.NewReplacer("480\r", "481\r", "sequence\r\n:0", "sequence\r\n:1").Replace(decoded)},
		{"HELLO 3\r\nDECODE 1541815603606036480\r\n", hello3 + "%7\r\n" + decoded + rounded},
		{"INFO\r\n", "$56\r\n# Server\r\nversion:1.2.3\r\nhost:a  b\r\n\r\n# Clock\r\nsteps:0\r\n\r\n"},
		{"INFO clock\r\n", "$18\r\n# Clock\r\nsteps:0\r\n\r\n"},
		{"INFO nothing\r\n", "$0\r\n\r\n"},
		{"PING\r\n", "+PONG\r\n"},
		{"PING hi\r\n", "$2\r\nhi\r\n"},
		{"*2\r\n$4\r\nECHO\r\n$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"},
		{"HELLO\r\n", hello2},
		{"HELLO 2\r\n", hello2},
		{"HELLO 3 AUTH default secret SETNAME me\r\nCLIENT GETNAME\r\n", hello3 + "$2\r\nme\r\n"},
		{"CLIENT ID\r\n", ":7\r\n"},
		{"CLIENT GETNAME\r\n", "$-1\r\n"},
		{"HELLO 3\r\nCLIENT GETNAME\r\n", hello3 + "_\r\n"},
		{"CLIENT SETNAME me\r\nclient getname\r\n", "+OK\r\n$2\r\nme\r\n"},
		{"CLIENT SETINFO lib-name go-redis\r\nCLIENT NO-EVICT on\r\nCLIENT NO-TOUCH on\r\n", "+OK\r\n+OK\r\n+OK\r\n"},
		{"SELECT 0\r\n", "+OK\r\n"},
		{"CONFIG GET save\r\n", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"},
		{"CONFIG GET maxmemory\r\n", "*0\r\n"},
		{"CONFIG GET maxmemory d* SAVE\r\n", "*4\r\n$9\r\ndatabases\r\n$1\r\n1\r\n$4\r\nsave\r\n$0\r\n\r\n"},
		{"AUTH default secret\r\n", "+OK\r\n"},
		{"CLIENT TRACKING ON OPTIN\r\nCLIENT CACHING yes\r\nCLIENT TRACKING OFF\r\nCLIENT REPLY ON\r\n", "+OK\r\n+OK\r\n+OK\r\n+OK\r\n"},
		{"GET a\r\nHELLO 3\r\nGET a\r\n", "$-1\r\n" + hello3 + "_\r\n"},
		{"SUBSCRIBE a b\r\nPING\r\nSUBSCRIBE a\r\nPING x\r\n", subscribed("*", "a", "1", "b", "2") + "*2\r\n$4\r\npong\r\n$0\r\n\r\n" +
			subscribed("*", "a", "2") + "*2\r\n$4\r\npong\r\n$1\r\nx\r\n"},
		{"HELLO 3\r\nSUBSCRIBE a\r\nPING\r\nRESET\r\nPING\r\n", hello3 + subscribed(">", "a", "1") + "+PONG\r\n+RESET\r\n+PONG\r\n"},
		{"SUBSCRIBE a b c\r\nUNSUBSCRIBE b x\r\nUNSUBSCRIBE\r\nUNSUBSCRIBE\r\nPING\r\n", subscribed("*", "a", "1", "b", "2", "c", "3") +
			"*3\r\n$11\r\nunsubscribe\r\n$1\r\nb\r\n:2\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\nx\r\n:2\r\n" +
			"*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:0\r\n*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n+PONG\r\n"},
		{"HELLO 3\r\nSUBSCRIBE a\r\nPUNSUBSCRIBE\r\nPUNSUBSCRIBE x*\r\n", hello3 + subscribed(">", "a", "1") +
			">3\r\n$12\r\npunsubscribe\r\n_\r\n:1\r\n>3\r\n$12\r\npunsubscribe\r\n$2\r\nx*\r\n:1\r\n"},
		{"DBSIZE\r\n", ":0\r\n"},
		{"HELLO 3\r\nRESET\r\nDECODE 1541815603606036480\r\n", hello3 + "+RESET\r\n*14\r\n" + decoded + rounded},
		{"COMMAND DOCS\r\nPING\r\n", "-ERR unknown subcommand 'DOCS' of COMMAND\r\n+PONG\r\n"},
		{"COMMAND COUNT\r\n", ":25\r\n"},
		{"COMMAND INFO next nothing\r\n", "*2\r\n*10\r\n$4\r\nnext\r\n:-1\r\n*1\r\n+fast\r\n:0\r\n:0\r\n:0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*-1\r\n"},
		{"\r\n\n  \r\n*0\r\n*-1\r\nPING\r\n", "+PONG\r\n"},
		{"*1\r\n$4\r\nNEX", ""},
	} {
		h := handler(t, &ticks{next: 100}, "twitter", resp.Limits{})
		if out, closed := ask(h, c.in); out != c.out || closed {
			t.Errorf("%q:\n got %q (closed: %t)\nwant %q", c.in, out, closed, c.out)
		}
	}
}

// subscribed are the replies to a SUBSCRIBE of channels of one letter: each channel comes before
// the number of those that there are then.
func subscribed(kind string, channels ...string) (all string) {
	for i := 0; i < len(channels); i += 2 {
		all += kind + "3\r\n$9\r\nsubscribe\r\n$1\r\n" + channels[i] + "\r\n:" + channels[i+1] + "\r\n"
	}
	return all
}

// Each of these is refused, and the connection answers the PING after it.
func TestRefusals(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct{ layout, in, out string }{
		{"twitter", "NOSUCH a b", "-ERR unknown command 'NOSUCH': ask for IDs with NEXT or RUN; COMMAND LIST lists the others"},
		{"twitter", "INCR k", "-ERR unknown command 'INCR': ask for IDs with NEXT or RUN; COMMAND LIST lists the others"},
		{"twitter", "INCRBY k 1", "-ERR unknown command 'INCRBY': ask for IDs with NEXT or RUN; COMMAND LIST lists the others"},
		{"twitter", long, "-ERR unknown command '" + long[:64] + "...': ask for IDs with NEXT or RUN; COMMAND LIST lists the others"},
		{"twitter", "*1\r\n$8\r\nA\r\n-B\xff\x00C", "-ERR unknown command 'A??-B??C': ask for IDs with NEXT or RUN; COMMAND LIST lists the others"},
		{"twitter", "*1\r\n$0\r\n", "-ERR unknown command '': ask for IDs with NEXT or RUN; COMMAND LIST lists the others"},
		{"twitter", "RUN", "-ERR wrong number of arguments for 'RUN': use RUN count [TENANT tenant]"},
		{"twitter", "NEXT 1 TENANT 0 0", "-ERR '0' is not understood here: use NEXT [count] [TENANT tenant] [AS form]"},
		{"twitter", "NEXT 1 TENANT 0 AS hex 0", "-ERR wrong number of arguments for 'NEXT': use NEXT [count] [TENANT tenant] [AS form]"},
		{"twitter", "DECODE", "-ERR wrong number of arguments for 'DECODE': use DECODE id [AS form]"},
		{"twitter", "DECODE 1 2", "-ERR '2' is not understood here: use DECODE id [AS form]"},
		{"twitter", "NEXT 0", "-ERR the count '0' is not a whole number of 1 or more"},
		{"twitter", "NEXT -1", "-ERR the count '-1' is not a whole number of 1 or more"},
		{"twitter", "NEXT +1", "-ERR the count '+1' is not a whole number of 1 or more"},
		{"twitter", "NEXT 1.5", "-ERR the count '1.5' is not a whole number of 1 or more"},
		{"twitter", "RUN ten", "-ERR the count 'ten' is not a whole number of 1 or more"},
		{"twitter", "NEXT 65537", "-ERR the count 65537 is over the limit of 65536: ask several times"},
		{"twitter", "RUN 18446744073709551616", "-ERR the count 18446744073709551616 is over the limit of 65536: ask several times"},
		{"twitter", "RUN 184467440737095516159", "-ERR the count 184467440737095516159 is over the limit of 65536: ask several times"},
		{"twitter", "NEXT 1 TENANT", "-ERR 'TENANT' is not understood here: use NEXT [count] [TENANT tenant] [AS form]"},
		{"twitter", "NEXT 1 WORKER 0", "-ERR 'WORKER' is not understood here: use NEXT [count] [TENANT tenant] [AS form]"},
		{"twitter", "RUN 1 TENANT", "-ERR 'TENANT' is not understood here: use RUN count [TENANT tenant]"},
		{"twitter", "NEXT TENANT 1", "-ERR the tenant '1' is not 0, but the layout has no tenant field"},
		{"time=41@1ms,worker=8,tenant=4,sequence=10;epoch=2020-01-01", "NEXT TENANT 16", "-ERR the tenant '16' is not a whole number from 0 to 15"},
		{"time=41@1ms,worker=8,tenant=4,sequence=10;epoch=2020-01-01", "NEXT TENANT x", "-ERR the tenant 'x' is not a whole number from 0 to 15"},
		{"twitter", "DECODE x", `-ERR "x" is not an ID: it has "x", and its characters are 0-9`},
		{"twitter", "DECODE -1", `-ERR "-1" is not an ID: it is negative, and an ID never is`},
		{"twitter", "DECODE 9223372036854775808", `-ERR "9223372036854775808" is not an ID: it is above 9223372036854775807`},
		{"js53", "DECODE 9223372036854775807", "-ERR the ID cannot be decoded: "},
		{"twitter", "HELLO 4", "-NOPROTO unsupported protocol version: 2 and 3 are spoken here"},
		{"twitter", "HELLO 3 AUTH me", "-ERR 'AUTH' is not understood here: use HELLO [2|3 [AUTH username password] [SETNAME name]]"},
		{"twitter", "HELLO 3 AUTH me secret", "-WRONGPASS there is no user 'me', only default: "},
		{"twitter", "AUTH me secret", "-WRONGPASS there is no user 'me', only default: "},
		{"twitter", "AUTH secret", "-ERR AUTH <password> called without any password configured for the default user"},
		{"twitter", "CLIENT REPLY OFF", "-ERR 'REPLY' is not understood here: use CLIENT REPLY ON"},
		{"twitter", "CLIENT TRACKING maybe", "-ERR unknown subcommand 'TRACKING' of CLIENT"},
		{"twitter", "MEMORY USAGE a", "-ERR unknown command 'MEMORY': ask for IDs with NEXT or RUN"},
		{"twitter", "SLOWLOG GET 10", "-ERR unknown command 'SLOWLOG': ask for IDs with NEXT or RUN"},
		{"twitter", "LATENCY LATEST", "-ERR unknown command 'LATENCY': ask for IDs with NEXT or RUN"},
		{"twitter", "SCAN 0", "-ERR unknown command 'SCAN': ask for IDs with NEXT or RUN"},
		{"twitter", "UNSUBSCRIBE" + strings.Repeat(" c", 17), "-ERR 'UNSUBSCRIBE' is not understood here: use 16 channels at most"},
		{"twitter", "SUBSCRIBE" + strings.Repeat(" c", 17), "-ERR 'SUBSCRIBE' is not understood here: use 16 channels at most"},
		{"twitter", "SELECT 1", "-ERR there is only database 0"},
		{"twitter", "CLIENT LIST", "-ERR unknown subcommand 'LIST' of CLIENT"},
		{"twitter", "CLIENT KILL x", "-ERR unknown subcommand 'KILL' of CLIENT"},
		{"twitter", "CONFIG SET a b", "-ERR unknown subcommand 'SET' of CONFIG"},
		{"twitter", "COMMAND NOSUCH", "-ERR unknown subcommand 'NOSUCH' of COMMAND"},
	} {
		h := handler(t, &ticks{}, c.layout, resp.Limits{})
		out, closed := ask(h, c.in+"\r\nPING\r\n")
		lines := strings.SplitAfter(out, "\r\n")
		if len(lines) != 3 || !strings.HasPrefix(lines[0], c.out) || lines[1] != "+PONG\r\n" || closed {
			t.Errorf("%q:\n got %q (closed: %t)\nwant %q and a PONG", c.in, out, closed, c.out)
		}
		if got := h.Tally(); got != (resp.Tally{Requests: 2, Errors: 1}) {
			t.Errorf("%q: tally %+v", c.in, got)
		}
	}
}

// A frame that makes no sense gets one error after the replies to what came before it, and is the
// last thing on its connection.
func TestBrokenFrames(t *testing.T) {
	limits := resp.Limits{Inline: 100, Bulk: 20, Args: 3, Request: 50}
	for _, c := range []struct{ in, out string }{
		{"*x\r\n", "the number of arguments is not a number"},
		{"*\r\n", "the number of arguments is not a number"},
		{"*1\n", "the number of arguments is not a number"},
		{"*1\rx", "the number of arguments does not end with CR LF"},
		{"*12345678901", "the number of arguments is too high"},
		{"*4\r\n", "a request has at most 3 arguments, not 4"},
		{"a b c d\r\n", "a request has at most 3 arguments"},
		{"*1\r\nPING\r\n", "expected '$', got 'P'"},
		{"*1\r\n$-1\r\n", "an argument has at most 20 bytes, not -1"},
		{"*1\r\n$21\r\n", "an argument has at most 20 bytes, not 21"},
		{"*1\r\n$3\r\nPING\r\n", "an argument of 3 bytes is longer than it says"},
		{"*1\r\n$4\r\nPING\rx", "an argument of 4 bytes is longer than it says"},
		{"*3\r\n$20\r\n01234567890123456789\r\n$20\r\n", "a request has at most 50 bytes"},
		{strings.Repeat("x", 101), "a line has at most 100 bytes"},
		{strings.Repeat("x", 101) + "\r\n", "a line has at most 100 bytes"},
	} {
		h := handler(t, &ticks{}, "twitter", limits)
		out, closed := ask(h, "PING\r\n"+c.in)
		if want := "+PONG\r\n-ERR Protocol error: " + c.out + "; the connection is closed\r\n"; out != want || !closed {
			t.Errorf("%q:\n got %q (closed: %t)\nwant %q", c.in, out, closed, want)
		}
	}
}

// What is just within a limit is no error.
func TestWithinLimits(t *testing.T) {
	limits := resp.Limits{Inline: 30, Bulk: 20, Args: 3, Request: 50, Count: 5}
	for _, c := range []struct{ in, out string }{
		{"PING" + strings.Repeat(" ", 26) + "\n", "+PONG\r\n"},
		{"*2\r\n$4\r\nPING\r\n$20\r\n01234567890123456789\r\n", "$20\r\n01234567890123456789\r\n"},
		{"NEXT TENANT 0\r\n", ":0\r\n"},
		{"RUN 5\r\n", "*3\r\n:1\r\n:0\r\n:5\r\n"},
		{"*2\r\n$4\r\nECHO\r\n$18\r\n012345678901234567\r\n", "$18\r\n012345678901234567\r\n"},
	} {
		if out, closed := ask(handler(t, &ticks{}, "twitter", limits), c.in); out != c.out || closed {
			t.Errorf("%q: got %q (closed: %t), want %q", c.in, out, closed, c.out)
		}
	}
}

func TestQuitIsTheLast(t *testing.T) {
	out, closed := ask(handler(t, &ticks{}, "twitter", resp.Limits{}), "PING\r\nQUIT\r\nPING\r\n")
	if out != "+PONG\r\n+OK\r\n" || !closed {
		t.Errorf("got %q (closed: %t)", out, closed)
	}
}

// Requests that IDs have to be waited for are answered whole and in order.
func TestWaits(t *testing.T) {
	const in = "NEXT 5\r\nPING\r\nRUN 9\r\n*1\r\n$4\r\nNEXT\r\n*1\r\n$4\r\nNEXT\r\n*1\r\n$4\r\nNEXT\r\nPING\r\n"
	const out = "*5\r\n:0\r\n:1\r\n:2\r\n:3\r\n:4\r\n+PONG\r\n*7\r\n:1\r\n:5\r\n:3\r\n:8\r\n:4\r\n:12\r\n:2\r\n:14\r\n:15\r\n:16\r\n+PONG\r\n"
	c := client{handler: handler(t, &ticks{each: 4}, "twitter", resp.Limits{})}
	c.send([]byte(in))
	if string(c.out) != out {
		t.Errorf("got %q, want %q", c.out, out)
	}
	if c.waits != 5 {
		t.Errorf("%d waits, want one for each of 5 ticks", c.waits)
	}
	if got, want := c.handler.Tally(), (resp.Tally{Requests: 7, IDs: 17}); got != want {
		t.Errorf("tally %+v, want %+v", got, want)
	}
}

func TestWaitSaysHowLong(t *testing.T) {
	h := handler(t, &ticks{each: 1}, "twitter", resp.Limits{})
	var s resp.Session
	used, out, next := h.Serve(&s, []byte("PING\r\nNEXT\r\nPING\r\n"), nil)
	if want := (resp.Next{State: resp.Wait, For: time.Millisecond, Event: true}); next != want || string(out) != "+PONG\r\n" || used != 12 {
		t.Errorf("got %+v after %d bytes, with %q", next, used, out)
	}
}

// An error takes the place of the whole array, so a client never sees half of one.
func TestUnavailable(t *testing.T) {
	source := &ticks{each: 4, left: 4}
	h := handler(t, source, "twitter", resp.Limits{})
	c := client{handler: h}
	var s resp.Session
	_, out, next := h.Serve(&s, []byte("NEXT 9\r\n"), nil)
	if len(out) != 0 || next.State != resp.Wait {
		t.Fatalf("got %q, %+v: want nothing and a wait", out, next)
	}
	source.err = errors.New("no\r\nlane")
	if _, out, next = h.Serve(&s, nil, out); string(out) != "-UNAVAILABLE no  lane\r\n" || next.State != resp.Read {
		t.Errorf("got %q, %+v", out, next)
	}
	c.send([]byte(strings.Repeat("*1\r\n$4\r\nNEXT\r\n", 3) + "RUN 2\r\nPING\r\n"))
	if want := strings.Repeat("-UNAVAILABLE no  lane\r\n", 4) + "+PONG\r\n"; string(c.out) != want {
		t.Errorf("got %q, want %q", c.out, want)
	}
	source.err = nil
	c.out = nil
	c.send([]byte("NEXT\r\n"))
	if string(c.out) != ":4\r\n" {
		t.Errorf("afterwards: %q", c.out)
	}
}

// Neighbours in a run differ by the layout's step, also where the sequence is not the lowest field.
func TestStep(t *testing.T) {
	for _, output := range []int{0, 30} { // the latter is room for one ID at a time
		h := handler(t, &ticks{next: 3}, "time=41@1ms,sequence=10,worker=8;epoch=2020-01-01", resp.Limits{Output: output})
		if out, _ := ask(h, "NEXT 3\r\nRUN 2\r\n"); out != "*3\r\n:3\r\n:259\r\n:515\r\n*3\r\n:256\r\n:6\r\n:2\r\n" {
			t.Errorf("got %q", out)
		}
	}
}

// The time has as many digits as the layout's ticks need.
func TestDecodedTime(t *testing.T) {
	for text, want := range map[string]string{
		"time=41@1ms,worker=8,sequence=10;epoch=2020-01-01":                "2020-01-01T00:00:00.001Z",
		"time=39@10ms,worker=8,sequence=10;epoch=2020-01-01":               "2020-01-01T00:00:00.01Z",
		"time=31@1s,worker=8,sequence=10;epoch=2020-01-01":                 "2020-01-01T00:00:01Z",
		"time=31@1s,worker=8,sequence=10;epoch=2020-01-01T00:00:00.250Z":   "2020-01-01T00:00:01.25Z",
		"time=39@10ms,worker=8,sequence=10;epoch=2010-11-04T01:42:54.657Z": "2010-11-04T01:42:54.667Z",
	} {
		h := handler(t, &ticks{}, text, resp.Limits{})
		if out, _ := ask(h, "DECODE 262144\r\n"); !strings.Contains(out, "\r\n"+want+"\r\n") {
			t.Errorf("%s: got %q, want %s", text, out, want)
		}
	}
}

func TestEveryRefusalHasATextAndACode(t *testing.T) {
	codes := map[string]bool{"": true}
	for k := resp.UnknownCommand; k <= resp.BrokenFrame; k++ {
		r := resp.Refuse(k)
		if codes[r.Code] {
			t.Errorf("kind %d has the code %q, which it has for itself", k, r.Code)
		}
		codes[r.Code] = true
		if r.Prefix == "" || r.Text == "" || r.Prefix != strings.ToUpper(r.Prefix) || strings.Contains(r.Prefix, " ") {
			t.Errorf("kind %d: %+v", k, r)
		}
	}
}

func TestANameIsOneWord(t *testing.T) {
	h := handler(t, &ticks{}, "flakeward", resp.Limits{})
	for _, request := range []string{
		"CLIENT SETNAME \"a b\"\r\n", "CLIENT SETNAME \"a\\nid=1 name=b\"\r\n", "HELLO 3 SETNAME \"a\\x00\"\r\n",
	} {
		if out, _ := ask(h, request); !strings.HasPrefix(out, "-ERR") {
			t.Errorf("%q: %q", request, out)
		}
	}
	for _, request := range []string{"CLIENT SETNAME a-b:8080~\r\n", "CLIENT SETNAME \"\"\r\n"} {
		if out, _ := ask(h, request); out != "+OK\r\n" {
			t.Errorf("%q: %q", request, out)
		}
	}
}
