package serve

import "testing"

// A round's replies are sent once there is no room for those of another connection, whatever came
// before: an arena that has grown would hold up more of them each time, and stay as large.
func TestAReplyLargerThanForeseenLeavesTheArenaAsItIs(t *testing.T) {
	o := newOutbox(Config{Limits: Limits{}.orDefaults()})
	size := cap(o.arena)
	for range 3 {
		for !o.full() {
			o.add(&conn{}, append(o.room(), make([]byte, size+1)...))
		}
		if cap(o.arena) != size || len(o.sends) != 1 || len(o.sends[0].replies) != size+1 {
			t.Fatalf("%d replies, an arena of %d bytes, want one and %d bytes", len(o.sends), cap(o.arena), size)
		}
		o.clear()
	}
	for !o.full() {
		o.add(&conn{}, append(o.room(), "+OK\r\n"...))
	}
	if len(o.arena) < size/2 {
		t.Errorf("full at %d of %d bytes", len(o.arena), size)
	}
}
