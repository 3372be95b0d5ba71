package rest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// book notes what requests are counted by.
type book struct {
	counts
	mu    sync.Mutex
	codes map[string]int // by command and code
}

func (b *book) Request(command, code string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.codes == nil {
		b.codes = map[string]int{}
	}
	b.codes[command+" "+code]++
}

// only reports whether requests were counted so, and no other.
func (b *book) only(of string, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.codes) == 1 && b.codes[of] == n
}

// broken is a reply that its client takes so many writes and flushes of.
type broken struct {
	*httptest.ResponseRecorder
	takes int
}

func (b *broken) fails() error {
	if b.takes--; b.takes < 0 {
		return errors.New("broken pipe")
	}
	return nil
}

func (b *broken) Write(p []byte) (int, error) { return len(p), b.fails() }
func (b *broken) FlushError() error           { return b.fails() }

// A write may fail before the request's context ends.
func TestAStreamThatItsClientBreaksOffIsGone(t *testing.T) {
	for takes := range 4 { // a write, a flush, and both once more
		var counted book
		s := start(t, "twitter", func(c *Config) { c.Count = &counted })
		s.most = 1
		r := httptest.NewRequest(http.MethodGet, "/v1/ids?count=5", nil)
		r.Header.Set("Accept", "application/x-ndjson")
		s.server.ServeHTTP(&broken{httptest.NewRecorder(), takes}, r)
		if !counted.only("ids gone", 1) {
			t.Errorf("after %d writes and flushes: %v", takes, counted.codes)
		}
	}
}
