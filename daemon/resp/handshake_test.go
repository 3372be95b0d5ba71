package resp_test

import (
	"testing"

	"github.com/flakeward/flakeward/daemon/resp"
)

// A subscription goes on in the process that takes a session over.
func TestASubscriptionIsHandedOver(t *testing.T) {
	h := handler(t, &ticks{}, "twitter", resp.Limits{})
	var s, on resp.Session
	_, _, _ = h.Serve(&s, []byte("SUBSCRIBE abc\r\n"), nil)
	if s.Held() < len("abc") {
		t.Errorf("its channel counts for %d bytes", s.Held())
	}
	on.Restore(s.Save())
	if _, out, _ := h.Serve(&on, []byte("PING\r\n"), nil); string(out) != "*2\r\n$4\r\npong\r\n$0\r\n\r\n" {
		t.Errorf("afterwards PING is answered with %q", out)
	}
}
