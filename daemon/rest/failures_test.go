package rest

import (
	"log"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/internal/logtest"
)

// Whoever connects over and over, and has net/http complain each time, does not fill the log.
func TestWhatNetHTTPSaysOfConnectionsIsLimited(t *testing.T) {
	text := &logtest.Buffer{}
	clock := clocktest.NewManual(time.Unix(1_800_000_000, 0))
	s := New(Config{Log: text.At(hclog.Debug), Clock: clock})
	for n, h := range []*log.Logger{s.HTTP().ErrorLog, s.Crowd().ErrorLog} {
		for port := range 100 {
			h.Printf("http: TLS handshake error from 127.0.0.%d:%d: EOF\n", n, port)
		}
	}
	clock.Advance(logEvery)
	s.HTTP().ErrorLog.Println("again")
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "127.0.0.0:0: EOF") || !strings.Contains(lines[1], "again") || !strings.HasSuffix(lines[1], "left_out=199") {
		t.Errorf("the log has %d lines:\n%s", len(lines), text)
	}
}
