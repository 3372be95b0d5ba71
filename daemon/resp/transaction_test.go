package resp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/resp"
)

// A transaction is answered as by Redis, and no ID is taken before EXEC.
func TestTransactions(t *testing.T) {
	const abort = "-EXECABORT no request since MULTI was run, as one of them was refused\r\n"
	for _, c := range []struct{ in, out string }{
		{"MULTI\r\nNEXT\r\nNEXT 2\r\nRUN 5\r\nPING\r\nEXEC\r\nNEXT\r\n",
			"+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*4\r\n:100\r\n*2\r\n:101\r\n:102\r\n*3\r\n:1\r\n:103\r\n:5\r\n+PONG\r\n:108\r\n"},
		{"MULTI\r\n*1\r\n$4\r\nNEXT\r\n*1\r\n$4\r\nNEXT\r\n*1\r\n$4\r\nEXEC\r\n*1\r\n$4\r\nNEXT\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:100\r\n:101\r\n:102\r\n"},
		{"MULTI\r\nEXEC\r\n", "+OK\r\n*0\r\n"},
		{"MULTI\r\nNEXT\r\nDISCARD\r\nNEXT\r\n", "+OK\r\n+QUEUED\r\n+OK\r\n:100\r\n"},
		{"MULTI\r\nNEXT\r\nRESET\r\nNEXT\r\n", "+OK\r\n+QUEUED\r\n+RESET\r\n:100\r\n"},
		{"MULTI\r\nNEXT 0\r\nNEXT\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n-ERR the count '0' is not a whole number of 1 or more\r\n:100\r\n"},
		{"MULTI\r\nNEXT\r\nRUN\r\nNEXT\r\nEXEC\r\nNEXT\r\n", "+OK\r\n+QUEUED\r\n-ERR wrong number of arguments for 'RUN': use RUN count [TENANT tenant]\r\n+QUEUED\r\n" + abort + ":100\r\n"},
		{"MULTI\r\nINCR a\r\nEXEC\r\nMULTI\r\nNEXT\r\nEXEC\r\n",
			"+OK\r\n-ERR unknown command 'INCR': ask for IDs with NEXT or RUN; COMMAND LIST lists the others\r\n" + abort + "+OK\r\n+QUEUED\r\n*1\r\n:100\r\n"},
		{"MULTI\r\nMULTI\r\nWATCH a\r\nUNWATCH\r\nEXEC\r\n",
			"+OK\r\n-ERR MULTI within MULTI: send EXEC or DISCARD first\r\n-ERR WATCH within MULTI: send it before\r\n+QUEUED\r\n*1\r\n+OK\r\n"},
		{"WATCH a b\r\nMULTI\r\nNEXT\r\nEXEC\r\nUNWATCH\r\n", "+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n:100\r\n+OK\r\n"},
		{"EXEC\r\nDISCARD\r\n", "-ERR EXEC without MULTI\r\n-ERR DISCARD without MULTI\r\n"},
		{"MULTI\r\nECHO \"a b\\r\\n\"\r\nEXEC\r\n", "+OK\r\n+QUEUED\r\n*1\r\n$5\r\na b\r\n\r\n"},
	} {
		for _, each := range []int{0, 1} { // the latter has every ID waited for
			if got, closed := ask(handler(t, &ticks{next: 100, each: each}, "twitter", resp.Limits{}), c.in); each == 0 && got != c.out || closed {
				t.Errorf("%q:\n got %q (closed: %t)\nwant %q", c.in, got, closed, c.out)
			} else if runs := strings.Contains(c.in, "RUN 5"); each == 1 && !runs && got != c.out {
				t.Errorf("%q, waiting:\n got %q\nwant %q", c.in, got, c.out)
			}
		}
	}
}

// A command that a daemon of another version has queued is refused where it is unknown.
func TestACommandThatAnotherVersionHasQueued(t *testing.T) {
	c := client{handler: handler(t, &ticks{next: 100}, "twitter", resp.Limits{})}
	c.session.Restore(resp.Saved{Transaction: &resp.Transaction{Queue: []byte("*1\r\n$4\r\nSCAN\r\n*1\r\n$4\r\nNEXT\r\n"), Count: 2}})
	c.send([]byte("EXEC\r\n"))
	if got := string(c.out); !strings.HasPrefix(got, "*2\r\n-ERR unknown command 'SCAN'") || !strings.HasSuffix(got, "\r\n:100\r\n") {
		t.Errorf("got %q", got)
	}
}

// QUIT within MULTI closes the connection, and nothing of the transaction is run.
func TestQuitEndsATransaction(t *testing.T) {
	source := &ticks{}
	if out, closed := ask(handler(t, source, "twitter", resp.Limits{}), "MULTI\r\nNEXT\r\nQUIT\r\nEXEC\r\n"); out != "+OK\r\n+QUEUED\r\n+OK\r\n" || !closed || source.asked != 0 {
		t.Errorf("got %q (closed: %t), and %d IDs were asked for", out, closed, source.asked)
	}
}

// Default pipelines of clients are transactions: 10,000 requests fit into one.
func TestATransactionHasRoomForAPipeline(t *testing.T) {
	c := client{handler: handler(t, &ticks{next: 100}, "twitter", resp.Limits{})}
	c.send([]byte("MULTI\r\n" + strings.Repeat("*1\r\n$4\r\nNEXT\r\n", 10_000) + "EXEC\r\n"))
	if got, want := string(c.out), "+OK\r\n"+strings.Repeat("+QUEUED\r\n", 10_000)+"*10000\r\n:100\r\n:101\r\n"; !strings.HasPrefix(got, want) || strings.Count(got, "\r\n:") != 10_000 {
		t.Errorf("got %d IDs, in %.200q", strings.Count(got, "\r\n:"), got[max(0, len(got)-200):])
	}
}

// What was run of a transaction stays in memory until its last request was, and is counted.
func TestATransactionIsHeldUntilItHasRun(t *testing.T) {
	const fat = 4000
	h := handler(t, &ticks{next: 100, each: 1}, "twitter", resp.Limits{})
	c := client{handler: h}
	c.send([]byte("MULTI\r\n" + strings.Repeat("ECHO "+strings.Repeat("x", fat)+"\r\n", 10) + "NEXT\r\n"))
	queued := c.session.Held()
	if _, _, next := h.Serve(&c.session, []byte("EXEC\r\n"), nil); next.State != resp.Wait {
		t.Fatalf("the state is %v, want that the last request waits", next.State)
	}
	if got := c.session.Held(); got < queued || queued < 10*fat {
		t.Errorf("%d bytes are held while the last request waits, and were %d before", got, queued)
	}
}

// What does not fit into a transaction has EXEC refuse it, and its room is free at once.
func TestTransactionsAreBounded(t *testing.T) {
	const room = 140 // ten requests
	h := handler(t, &ticks{next: 100}, "twitter", resp.Limits{Transaction: room})
	c := client{handler: h}
	c.send([]byte("MULTI\r\n" + strings.Repeat("NEXT\r\n", 10)))
	if got := c.session.Held(); got < room {
		t.Errorf("%d bytes are held, want at least %d", got, room)
	}
	c.send([]byte("NEXT\r\n"))
	if got := c.session.Held(); got != 0 {
		t.Errorf("%d bytes are held of a transaction that cannot run", got)
	}
	c.send([]byte("EXEC\r\n"))
	want := "+OK\r\n" + strings.Repeat("+QUEUED\r\n", 10) +
		"-ERR the requests since MULTI have more than 140 bytes, the limit of a transaction: send fewer at once, or a pipeline without MULTI\r\n" +
		"-EXECABORT no request since MULTI was run, as one of them was refused\r\n"
	if string(c.out) != want {
		t.Errorf("got %q, want %q", c.out, want)
	}
	if got, want := h.Tally(), (resp.Tally{Requests: 3, Errors: 2}); got != want {
		t.Errorf("tally %+v, want %+v", got, want)
	}
}

// A request of a transaction that cannot be served does not take the others with it, and the output
// stays bounded.
func TestTransactionsWithErrorsAndManyIDs(t *testing.T) {
	source := &ticks{err: errors.New("no lane")}
	if out, _ := ask(handler(t, source, "twitter", resp.Limits{}), "MULTI\r\nNEXT\r\nPING\r\nNEXT 3\r\nEXEC\r\n"); out != "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n-UNAVAILABLE no lane\r\n+PONG\r\n-UNAVAILABLE no lane\r\n" {
		t.Errorf("got %q", out)
	}
	const limit = 1000
	c := client{handler: handler(t, &ticks{next: 1 << 62}, "twitter", resp.Limits{Output: limit})}
	c.send([]byte("MULTI\r\n" + strings.Repeat("NEXT 1000\r\n", 20) + strings.Repeat("*1\r\n$4\r\nNEXT\r\n", 100) + "EXEC\r\n"))
	if ids := strings.Count(string(c.out), "\r\n:"); ids != 20_100 || c.longest > limit+30 {
		t.Errorf("%d IDs, up to %d bytes at once", ids, c.longest)
	}
	without := client{handler: handler(t, &ticks{next: 1 << 62}, "twitter", resp.Limits{Output: limit})}
	without.send([]byte("NEXT 1000\r\n"))
	if got, want := c.session.Held(), without.session.Held(); got != want {
		t.Errorf("%d bytes are held after EXEC, want %d as without MULTI: the queue is kept", got, want)
	}
}
