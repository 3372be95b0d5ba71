package rest

import (
	"net/http"
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

// What a handler says that knows nothing of problems is passed on, and its errors are counted.
func TestErrorsOfFurtherPathsAreCounted(t *testing.T) {
	for status, code := range map[int]string{503: "unavailable", 200: OK} {
		var counted book
		s := start(t, "twitter", func(c *Config) {
			c.Count = &counted
			c.More = map[string]http.Handler{"/further": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "7")
				http.Error(w, "it is so", status)
			})}
		})
		if reply, body := s.do(t, "GET", "/further"); reply.StatusCode != status || body != "it is so\n" || reply.Header.Get("Retry-After") != "7" || !counted.only("further "+code, 1) {
			t.Errorf("%d: %s %q, counted as %v", status, reply.Status, body, counted.codes)
		}
	}
}
