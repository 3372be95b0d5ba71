package rest

import (
	"encoding/json"
	"io"
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

// An error of a handler that knows nothing of problems is one, and is counted as one.
func TestErrorsOfFurtherPathsAreProblems(t *testing.T) {
	for _, tt := range []struct {
		status      int
		code, after string
	}{{503, "unavailable", "7"}, {500, "unavailable", ""}, {403, "not-here", ""}, {200, OK, ""}} {
		var counted book
		s := start(t, "twitter", func(c *Config) {
			c.Count = &counted
			c.More = map[string]http.Handler{"/further": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.status == http.StatusOK {
					_, _ = io.WriteString(w, "fine")
					return
				}
				if tt.after != "" {
					w.Header().Set("Retry-After", tt.after)
				}
				http.Error(w, "it is not:\nwait", tt.status)
			})}
		})
		reply, body := s.do(t, "GET", "/further")
		var p Problem
		if tt.code == OK {
			p.Code, p.Status, p.Detail = OK, 200, body
		} else if err := json.Unmarshal([]byte(body), &p); err != nil || p.Detail != "it is not: wait" || reply.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%d: %s %s (%v)", tt.status, reply.Header, body, err)
		}
		if reply.StatusCode != tt.status || p.Status != tt.status || p.Code != tt.code || reply.Header.Get("Retry-After") != tt.after || !counted.only("further "+tt.code, 1) {
			t.Errorf("%d: %s %v %+v, counted as %v", tt.status, reply.Status, reply.Header, p, counted.codes)
		}
		if reply, body := s.do(t, "HEAD", "/further"); reply.StatusCode != tt.status || body != "" {
			t.Errorf("HEAD: %s %q", reply.Status, body)
		}
	}
}
