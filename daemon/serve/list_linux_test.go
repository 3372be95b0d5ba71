package serve

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// CLIENT LIST shows each connection, who it belongs to, what it got and what it waits for.
func TestClientListShowsUsersAndWaits(t *testing.T) {
	store := newStore(5)
	h := start(t, "system", store, nil)
	waiting, asking := h.dial(t), h.dial(t)
	waiting.send("CLIENT SETNAME crowd\r\nNEXT\r\nRUN 10\r\n")
	waiting.want("+OK\r\n:0\r\n")
	<-store.waited
	asking.send("CLIENT LIST\r\nCLIENT INFO\r\n")
	var lines []string
	for range 2 {
		head, err := asking.in.ReadString('\n')
		if err != nil || head[0] != '$' {
			t.Fatalf("got %q, %v", head, err)
		}
		for {
			line := must.Get(asking.in.ReadString('\n'))(t)
			if line == "\r\n" {
				break
			}
			lines = append(lines, line)
		}
	}
	who := fmt.Sprintf("user=%d pid=%d", os.Getuid(), os.Getpid())
	for i, want := range []string{
		"id=1 name=crowd " + who + " served=5 waits=run left=6 rate=none dialect=resp\n",
		"id=2 name= " + who + " served=0 waits=none left=0 rate=none dialect=resp\n",
		"id=2 name= ",
	} {
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d of %q, want %q", i, lines, want)
		}
	}
}
