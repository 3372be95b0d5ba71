package resp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/peercred"
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

// A pod's list is made in parts as well, counts as the session's own memory, and has the sessions
// of the pod's user alone.
func TestAPodsListHasItsOwnSessionsOnly(t *testing.T) {
	layout := must.Get(generator.ParseLayout("twitter"))(t)
	mine, other := &peercred.Pod{User: "n/mine"}, &peercred.Pod{User: "n/other"}
	all := make([]*resp.Session, 300)
	for i := range all {
		all[i] = &resp.Session{ID: int64(i + 1)}
		switch i % 3 {
		case 0: // of another directory of the same user
			all[i].Peer.Pod = &peercred.Pod{User: "n/mine", Directory: "b"}
		case 1:
			all[i].Peer.Pod = other
		}
	}
	all[0].Peer.Pod = mine
	looked := 0
	h := resp.NewHandler(resp.Config{Layout: layout, Sessions: func(at int) (*resp.Session, int) {
		if looked++; at == len(all) {
			return nil, at
		}
		return all[at], at + 1
	}})
	_, out, next := h.Serve(all[0], []byte("CLIENT LIST\r\n"), nil)
	if len(out) != 0 || looked > 100 || all[0].Held() < 64/3*len("id=1 ") {
		t.Errorf("after one call, which looks at %d sessions, the reply is %q, and %d bytes are held", looked, out, all[0].Held())
	}
	for n := 0; next.State == resp.Write && n < len(all); n++ {
		var part []byte
		_, part, next = h.Serve(all[0], nil, nil)
		out = append(out, part...)
	}
	if n := strings.Count(string(out), "user=n/mine "); n != 100 || strings.Count(string(out), "user=") != n || all[0].Held() != 0 {
		t.Errorf("%d of 100 sessions, and %d bytes held, in %s", n, all[0].Held(), out)
	}
	_, out, next = h.Serve(all[2], []byte("CLIENT LIST\r\n"), nil)
	for next.State == resp.Write {
		var part []byte
		_, part, next = h.Serve(all[2], nil, nil)
		out = append(out, part...)
	}
	if n := strings.Count(string(out), "user="); n != len(all) {
		t.Errorf("who came by the node's socket sees %d sessions of %d", n, len(all))
	}
}
