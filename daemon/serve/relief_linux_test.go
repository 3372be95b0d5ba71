package serve

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// Of the user who has most, the connection ends that has asked for nothing for the longest time,
// and none that has a request under way.
func TestAnotherUserGetsThePlaceOfTheLongestIdle(t *testing.T) {
	layout := must.Get(generator.ParseLayout("twitter"))(t)
	source := newStore(0)
	s := New(Config{Source: source, Layout: layout, Limits: Limits{Connections: 3}})
	e := must.Get(startLoop(s.config, s.web))(t)
	h := &host{Server: s, path: filepath.Join(t.TempDir(), "s")}
	l := must.Get(net.Listen("unix", h.path))(t)
	defer l.Close() // it has nothing to lose
	come := func(uid uint32) *peer {
		p := h.dial(t)
		c := must.Get(l.Accept())(t)
		g := client{who: peercred.Credentials{Known: true, UID: uid}, id: s.admitted.Add(1)}
		if g.verdict, g.from = s.counts.connections.Come(budget.User(uid)); g.verdict == budget.Refuse {
			t.Fatal("refused")
		}
		s.counts.accepted.Add(1)
		must.Do(t, e.add(c, g))
		return p
	}
	waits, idle, active := come(1), come(1), come(1)
	waits.send("NEXT\r\n")
	<-source.waited
	for range 40 * batchRounds { // so many rounds later, idle is told from active
		active.send("PING\r\n")
		active.want("+PONG\r\n")
	}
	other := come(2)
	idle.wantEnd()
	other.send("PING\r\n")
	other.want("+PONG\r\n")
	if c := s.Counters(); c.Refused[Relieved] != 1 || c.Connections != 3 {
		t.Errorf("%+v", c)
	}
	source.put(1)
	e.wake()
	waits.want(":0\r\n")
	active.send("PING\r\n")
	active.want("+PONG\r\n")
	e.stop()
	e.wait()
}
