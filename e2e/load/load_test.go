package load_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// fake is a daemon. For each request it calls reply with what was asked for.
func fake(t *testing.T, reply func(c net.Conn, request string) (goOn bool)) (socket string) {
	t.Helper()
	return sockettest.Serve(t, func(_ int, c *sockettest.Conn) {
		c.Answer(func(request string) (string, bool) { return "", reply(c, request) })
	})
}

// counting replies with IDs that rise by one.
type counting struct{ next int64 }

func (c *counting) reply(request string) string {
	take := func(n int64) int64 { first := c.next; c.next += n; return first }
	switch request {
	case "NEXT":
		return fmt.Sprintf(":%d\r\n", take(1))
	case fmt.Sprint("NEXT ", load.BatchIDs):
		var b strings.Builder
		fmt.Fprintf(&b, "*%d\r\n", load.BatchIDs)
		for range load.BatchIDs {
			fmt.Fprintf(&b, ":%d\r\n", take(1))
		}
		return b.String()
	case fmt.Sprint("RUN ", load.RunIDs):
		a, b := take(2000), take(load.RunIDs-2000)
		return fmt.Sprintf("*5\r\n:1\r\n:%d\r\n:2000\r\n:%d\r\n:%d\r\n", a, b, load.RunIDs-2000)
	}
	return "-ERR " + request + "\r\n"
}

// firstSingle is the seed of a mix that begins with requests for single IDs.
const firstSingle = 4

func pull(t *testing.T, socket string, hold bool) (load.Ending, []int64) {
	t.Helper()
	var kept []int64
	var p *load.Client
	p = &load.Client{
		Random: rand.New(rand.NewPCG(firstSingle, 0)),
		Keep:   func(ids []int64) { kept = append(kept, ids...) },
		Got: func(uint64) {
			if hold {
				p.Hold()
			}
		},
		Held: func() {},
	}
	ending, err := p.Pull(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	if uint64(len(kept)) != ending.IDs() {
		t.Errorf("%d IDs were kept and %d counted", len(kept), ending.IDs())
	}
	return ending, kept
}

// TestClientKeepsWholeReplies cuts a reply in its middle: its IDs do not count, all before do.
func TestClientKeepsWholeReplies(t *testing.T) {
	const requests = 300
	var ids counting
	whole := int64(0)
	n := 0
	socket := fake(t, func(c net.Conn, request string) bool {
		reply := ids.reply(request)
		if n++; n == requests {
			_, _ = io.WriteString(c, reply[:len(reply)-1])
			return false
		}
		whole = ids.next
		_, err := io.WriteString(c, reply)
		return err == nil
	})
	ending, kept := pull(t, socket, false)
	if !ending.Torn || ending.Unanswered == 0 || ending.Wrong != "" {
		t.Errorf("the ending is %+v", ending)
	}
	if ending.Singles == 0 || ending.Batches == 0 || ending.Runs == 0 {
		t.Errorf("not every kind of request is in the mix: %+v", ending.Counts)
	}
	want := make([]int64, whole)
	for i := range want {
		want[i] = int64(i)
	}
	if !slices.Equal(kept, want) {
		t.Errorf("kept %d IDs, want the %d of whole replies", len(kept), whole)
	}
}

func TestClientFindsNobody(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	if ending, _ := pull(t, socket, false); ending != (load.Ending{Unreached: true}) {
		t.Errorf("without a socket: %+v", ending)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false) // as after a kill
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if ending, _ := pull(t, socket, false); ending != (load.Ending{Unreached: true}) {
		t.Errorf("with a dead socket: %+v", ending)
	}
}

func TestClientHolds(t *testing.T) {
	for _, unanswered := range []int{0, 3} {
		var ids counting
		large := 0
		socket := fake(t, func(c net.Conn, request string) bool {
			// The first pipeline is of single IDs. Hold comes with its first, so the next is the
			// last: 8 batches.
			if request != "NEXT" {
				large++
			}
			_, err := io.WriteString(c, ids.reply(request))
			return err == nil && large < 8-unanswered
		})
		ending, _ := pull(t, socket, true)
		if ending.Unanswered != unanswered || ending.Torn || ending.Wrong != "" {
			t.Errorf("with %d requests unanswered the ending is %+v", unanswered, ending)
		}
		if ending.Singles == 0 || ending.Batches != uint64(8-unanswered)*load.BatchIDs || ending.Runs != 0 {
			t.Errorf("the requests were not the expected ones: %+v", ending.Counts)
		}
	}
}

func TestClientNotesTrouble(t *testing.T) {
	for name, tt := range map[string]struct {
		reply   string
		refused uint64
		wrong   string // empty: none
	}{
		"unavailable": {"-UNAVAILABLE wait\r\n", 1, ""},
		"nothing":     {"", 0, ""},
		"refused":     {"-ERR what\r\n", 1, "ERR what"},
		"no integer":  {"+OK\r\n", 0, "no such reply"},
		"an array":    {"*1\r\n:1\r\n", 0, "no such reply"},
	} {
		t.Run(name, func(t *testing.T) {
			socket := fake(t, func(c net.Conn, _ string) bool {
				_, _ = io.WriteString(c, tt.reply)
				return false
			})
			ending, _ := pull(t, socket, false)
			if ending.Refused != tt.refused {
				t.Errorf("%d refused, want %d", ending.Refused, tt.refused)
			}
			if (ending.Wrong == "") != (tt.wrong == "") || !strings.Contains(ending.Wrong, tt.wrong) {
				t.Errorf("the wrong reply is %q, want something with %q", ending.Wrong, tt.wrong)
			}
		})
	}
}

// TestClientCounts gives each array one ID less than was asked for.
func TestClientCounts(t *testing.T) {
	var ids counting
	socket := fake(t, func(c net.Conn, request string) bool {
		reply := ids.reply(request)
		if _, count, array := strings.Cut(request, "NEXT "); array {
			n, _ := strconv.Atoi(count)
			reply = strings.Replace(reply, "*"+count, "*"+strconv.Itoa(n-1), 1)
			reply = reply[:strings.LastIndex(reply, ":")]
		}
		_, err := io.WriteString(c, reply)
		return err == nil && !strings.Contains(request, " ")
	})
	if ending, _ := pull(t, socket, true); !strings.Contains(ending.Wrong, "999 IDs where 1000 were asked for") {
		t.Errorf("the ending is %+v", ending)
	}
}

func TestStream(t *testing.T) {
	var ids counting
	socket := fake(t, func(c net.Conn, request string) bool {
		reply := ids.reply(request)
		if ids.next%100 == 50 {
			reply += "-UNAVAILABLE wait\r\n"
		}
		_, err := io.WriteString(c, reply)
		return err == nil
	})
	s, err := load.OpenStream(t.Context(), socket, 50_000)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := s.Await(t.Context(), 500); err != nil {
			t.Fatal(err)
		}
	}
	if s.LongestGap() <= 0 {
		t.Error("there was no time between answers")
	}
	got, refused, err := s.Close()
	if err != nil {
		t.Error(err)
	}
	if len(got) < 1500 || refused < 15 {
		t.Errorf("%d IDs, %d refused", len(got), refused)
	}
	for i, id := range got {
		if id != int64(i) {
			t.Fatalf("ID %d came in place %d", id, i)
		}
	}
}

func TestStreamEnds(t *testing.T) {
	var ids counting
	socket := fake(t, func(c net.Conn, request string) bool {
		_, _ = io.WriteString(c, ids.reply(request))
		return ids.next < 100
	})
	s, err := load.OpenStream(t.Context(), socket, 50_000)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Await(t.Context(), 1_000_000); err == nil {
		t.Error("waited for IDs that never came, and got them")
	}
	if ids, _, err := s.Close(); err == nil || len(ids) != 100 {
		t.Errorf("%d IDs, %v", len(ids), err)
	}
}
