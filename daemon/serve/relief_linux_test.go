package serve

import (
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// Of the user who has most, the connection ends that has asked for nothing for the longest time,
// and none that has a request under way.
func TestAnotherUserGetsThePlaceOfTheLongestIdle(t *testing.T) {
	source := newStore(0)
	s := New(Config{Source: source, Layout: twitter(t), Limits: Limits{Connections: 3}})
	e := must.Get(startLoop(s.config, s.web))(t)
	come := comes(t, s, e)
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
