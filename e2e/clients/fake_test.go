package clients

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// fake is a daemon that answers as a test says.
type fake struct {
	socket string

	mu      sync.Mutex
	cluster string
	greet   func() string                          // in place of a reply to INFO; nil, or an empty text: none
	reply   func(n int64) (text string, more bool) // to RUN n; no text: that of IDs
	runs    []int64                                // that were asked for
	words   []string                               // of the last request for IDs
	next    int64
	step    int64
	hung    int // so many connections, the first ones, get no reply any more
}

func startFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{next: 1, step: 1}
	f.socket = sockettest.Serve(t, func(number int, c *sockettest.Conn) {
		c.Answer(func(request string) (string, bool) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if number < f.hung {
				return "", true
			}
			words := strings.Fields(request)
			if words[0] == "INFO" {
				if f.greet != nil {
					if text := f.greet(); text != "" {
						return text, false
					}
				}
				text := "# Server\r\nmax_count:100\r\n\r\n# Cluster\r\ncluster_id:" + f.cluster + "\r\n"
				return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text), true
			}
			n := must.Get(strconv.ParseInt(words[1], 10, 64))(t)
			f.runs, f.words = append(f.runs, n), words
			if f.reply != nil {
				if text, more := f.reply(n); text != "" || !more {
					return text, more
				}
			}
			return f.draw(n), true
		})
	})
	return f
}

// draw is a reply of the next n IDs.
func (f *fake) draw(n int64) string {
	first := f.next
	f.next += n * f.step
	return fmt.Sprintf("*3\r\n:%d\r\n:%d\r\n:%d\r\n", f.step, first, n)
}

// set has do change the fake while it answers nobody.
func (f *fake) set(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// once has the fake answer the next request for IDs with a text.
func (f *fake) once(text string, more bool) {
	f.set(func() {
		f.reply = func(int64) (string, bool) {
			f.reply = nil
			return text, more
		}
	})
}

// greetOnce has the fake answer the next connection with a text and end it.
func (f *fake) greetOnce(text string) {
	f.set(func() {
		f.greet = func() string {
			f.greet = nil
			return text
		}
	})
}

// following is the next ID that the fake draws.
func (f *fake) following() (id string) {
	f.set(func() { id = strconv.FormatInt(f.next, 10) })
	return id
}

// asked is what was asked for since the last call.
func (f *fake) asked() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.runs
	f.runs = nil
	return all
}
