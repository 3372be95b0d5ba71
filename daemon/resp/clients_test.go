package resp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// A list of many connections takes many calls of Serve, each of which does little. It has each
// connection that was there when it was asked for, and one that is asked for meanwhile has those
// that have come since.
func TestAListOfConnectionsIsMadeInParts(t *testing.T) {
	const sessions = 1000
	all := make([]*resp.Session, sessions)
	for i := range all {
		all[i] = &resp.Session{ID: int64(i + 1)}
	}
	looked := 0
	layout := must.Get(generator.ParseLayout("twitter"))(t)
	h := resp.NewHandler(resp.Config{Layout: layout, Sessions: func(at int) (*resp.Session, int) {
		looked++
		if at == len(all) {
			return nil, at
		}
		return all[at], at + 1
	}})
	asker, later := all[0], all[1]
	replies := map[*resp.Session][]byte{}
	ask := func(s *resp.Session, in string) resp.State {
		t.Helper()
		before := looked
		_, out, next := h.Serve(s, []byte(in), nil)
		replies[s] = append(replies[s], out...)
		if n := looked - before; n > 100 {
			t.Fatalf("one call looks at %d connections", n)
		}
		return next.State
	}
	state := ask(asker, "CLIENT LIST\r\n")
	for range 3 {
		state = ask(asker, "")
	}
	all = append([]*resp.Session{{ID: 5001}}, all...) // the list that is being made may miss it
	otherState := ask(later, "CLIENT LIST\r\n")
	for n := 0; state == resp.Write || otherState == resp.Write; n++ {
		if n > sessions {
			t.Fatal("the list does not end")
		}
		if state == resp.Write {
			state = ask(asker, "")
		}
		if otherState == resp.Write {
			otherState = ask(later, "")
		}
	}
	for i := range sessions {
		if line := fmt.Sprintf("id=%d ", i+1); !strings.Contains(string(replies[asker]), line) {
			t.Fatalf("no %s", line)
		}
	}
	if !strings.Contains(string(replies[later]), "id=5001 ") {
		t.Error("a list has not who had come when it was asked for")
	}
	for s, reply := range replies {
		head, rest, _ := strings.Cut(string(reply), "\r\n")
		if head != fmt.Sprintf("$%d", len(rest)-2) || !strings.HasSuffix(rest, "\r\n") {
			t.Errorf("the reply to %d begins %q and has %d bytes", s.ID, head, len(rest))
		}
	}
}
