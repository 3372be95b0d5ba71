//go:build drill

package fault

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestDrillTheTakesThatAreHeld: those that come to their tick first.
func TestDrillTheTakesThatAreHeld(t *testing.T) {
	restore := HoldEach(1, time.Nanosecond)
	defer restore()
	var slot atomic.Uint64
	for _, word := range []uint64{16, 16, 32, 16} {
		Hold(&slot, word)
		slot.Store(max(slot.Load(), word))
	}
	if n := Held(); n != 2 {
		t.Errorf("%d Takes were held, want those that came first to words 16 and 32", n)
	}
}

func TestDrillParseHold(t *testing.T) {
	for text, says := range map[string]string{
		"": "", "100/50ms": "", "1/1h": "",
		"0/50ms": "100/50ms", "-1/50ms": "100/50ms", "50ms": "100/50ms", "1/": "100/50ms", "1/0s": "100/50ms", "x/y": "100/50ms",
	} {
		h, err := parseHold(text)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v", text, h, err)
		}
	}
}
