package resp_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
)

// A row of NEXTs that are all refused has far longer replies than one of IDs: they are written in
// parts as well, and each of them is refused.
func TestRefusalsOfARowOfRequestsKeepToTheOutput(t *testing.T) {
	const output = 4 << 10
	reason := errors.New(strings.Repeat("gone ", 20))
	h := handler(t, &some{err: reason}, "twitter", resp.Limits{Output: output})
	var s resp.Session
	in := bytes.Repeat([]byte("*1\r\n$4\r\nNEXT\r\n"), 180)
	refused := 0
	for state := resp.Write; state == resp.Write; {
		used, replies, next := h.Serve(&s, in, nil)
		if most := output + 2*len(reason.Error()); len(replies) > most {
			t.Fatalf("%d bytes of replies at once, want at most %d", len(replies), most)
		}
		in, state = in[used:], next.State
		refused += bytes.Count(replies, []byte("-UNAVAILABLE"))
	}
	if refused != 180 || len(in) > 0 {
		t.Errorf("%d of 180 are refused, with %d bytes unread", refused, len(in))
	}
}

// What takes long to answer counts for more than its reply: fewer of such requests are answered
// before others have a turn.
func TestRefusalsAndINFOCountForMoreThanTheirReplies(t *testing.T) {
	for request, most := range map[string]int{"X\r\n": 64, "INFO\r\n": 4} {
		h := handler(t, &some{}, "twitter", resp.Limits{Output: 32 << 10})
		var s resp.Session
		used, _, next := h.Serve(&s, bytes.Repeat([]byte(request), 1000), nil)
		if n := used / len(request); n == 0 || n > most || next.State != resp.Write {
			t.Errorf("%d of %q in a turn, want at most %d", n, request, most)
		}
	}
}

// single is a source that gives IDs one by one.
type single struct{}

func (single) Take(*issue.Connection, uint32, int) (generator.Run, issue.Wait) {
	return generator.Run{First: 1, N: 1}, issue.Wait{}
}

// IDs that come one by one count for more than their replies, too. A row goes on where it stopped.
func TestIDsThatComeOneByOneAreGivenInSeveralTurns(t *testing.T) {
	h := handler(t, single{}, "twitter", resp.Limits{Output: 32 << 10})
	var s resp.Session
	const row = 1000
	in := bytes.Repeat([]byte("*1\r\n$4\r\nNEXT\r\n"), row)
	got, turns := 0, 0
	for state := resp.Write; state == resp.Write; turns++ {
		used, replies, next := h.Serve(&s, in, nil)
		in, state = in[used:], next.State
		n := bytes.Count(replies, []byte(":1\r\n"))
		if got += n; n > 500 {
			t.Fatalf("%d IDs in a turn", n)
		}
	}
	if got != row || len(in) > 0 || turns < 3 {
		t.Errorf("%d of %d IDs in %d turns, with %d bytes unread", got, row, turns, len(in))
	}
}
