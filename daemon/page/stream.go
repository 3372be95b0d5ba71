package page

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/flakeward/flakeward/daemon/queue"
)

const (
	mostStreams = 64 // at once
	mostOfAUser = 16 // of them
	// mostBehind is by how many updates a stream may be behind before it is ended. What it has missed,
	// it gets no more: each update has only what is true now.
	mostBehind = 10
)

// longAgo ends a write that is under way.
var longAgo = time.Unix(1, 0)

// streams are the server-sent events that are under way. What was published last is kept once, for
// all of them: one that reads slowly takes no memory, and holds up nobody.
type streams struct {
	mu      sync.Mutex
	open    map[*stream]struct{}
	closed  bool
	empty   chan struct{} // closed once there is none any more; nil: nobody waits for that
	changed chan struct{} // closed at the next publish
	number  uint64        // of the last one, from 1
	parts   map[string]part
}

// part is an element of the page.
type part struct {
	html  string
	since uint64 // the publish in which it became that
}

// stream is one of them.
type stream struct {
	mu      sync.Mutex
	writes  bool // a write is under way
	control *http.ResponseController

	user queue.User
	seen uint64 // the publish that it has got last; streams.mu guards it
}

func newStreams() *streams {
	return &streams{open: map[*stream]struct{}{}, changed: make(chan struct{}), parts: map[string]part{}}
}

// watched reports whether there is any.
func (s *streams) watched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) > 0
}

// publish has all streams send what has changed, and ends those that have not taken what came
// before.
func (s *streams) publish(html map[string]string) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.number++
	for id, text := range html {
		if s.parts[id].html != text {
			s.parts[id] = part{text, s.number}
		}
	}
	var slow []*stream
	for of := range s.open {
		if s.number-of.seen > mostBehind {
			slow = append(slow, of)
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	for _, of := range slow {
		of.interrupt()
	}
}

// close ends all streams, now and from now on: each with its next event, and those that are still
// there when ctx ends, at once.
func (s *streams) close(ctx context.Context) {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.changed)
	}
	s.mu.Unlock()
	select {
	case <-s.gone():
	case <-ctx.Done():
		s.mu.Lock()
		all := maps.Clone(s.open)
		s.mu.Unlock()
		for of := range all {
			of.interrupt()
		}
	}
}

// gone is closed once there is none. It is for after the last has begun.
func (s *streams) gone() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty == nil {
		s.empty = make(chan struct{})
		if len(s.open) == 0 {
			close(s.empty)
		}
	}
	return s.empty
}

// join begins one; nil: there are too many, or there are none any more.
func (s *streams) join(w http.ResponseWriter, u queue.User) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := 0
	for of := range s.open {
		if of.user == u {
			own++
		}
	}
	if s.closed || len(s.open) >= mostStreams || own >= mostOfAUser {
		return nil
	}
	of := &stream{control: http.NewResponseController(w), user: u, seen: s.number}
	s.open[of] = struct{}{}
	return of
}

func (s *streams) leave(of *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, of)
	if s.empty != nil && len(s.open) == 0 {
		close(s.empty)
	}
}

// next is what has changed since after, and the publish that it is of; false: the stream ends.
// Something new comes once changed is closed.
func (s *streams) next(of *stream, after uint64) (html map[string]string, number uint64, changed <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of.seen = after
	html = map[string]string{}
	for id, p := range s.parts {
		if p.since > after {
			html[id] = p.html
		}
	}
	return html, s.number, s.changed, !s.closed
}

// interrupt ends a write that is under way, and with it the stream.
func (of *stream) interrupt() {
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.writes {
		_ = of.control.SetWriteDeadline(longAgo)
	}
}

// write sends one event.
func (of *stream) write(w http.ResponseWriter, event []byte) error {
	of.writing(true)
	defer of.writing(false)
	if _, err := w.Write(event); err != nil {
		return err
	}
	return of.control.Flush()
}

func (of *stream) writing(is bool) {
	of.mu.Lock()
	defer of.mu.Unlock()
	of.writes = is
}

// serve sends updates to a browser until it goes.
func (s *streams) serve(w http.ResponseWriter, r *http.Request, u queue.User) {
	of := s.join(w, u)
	if of == nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many look at this page, or the daemon ends: reload the page to see it as it is now", http.StatusServiceUnavailable)
		return
	}
	defer s.leave(of)
	w.Header().Set("Content-Type", "text/event-stream")
	_ = of.control.SetWriteDeadline(time.Time{}) // what ends it is interrupt
	if of.write(w, []byte("retry: 1000\n\n")) != nil {
		return
	}
	var number uint64 // what was published before is news to it
	for {
		html, now, changed, ok := s.next(of, number)
		if !ok {
			return
		}
		if len(html) > 0 && of.write(w, event(html)) != nil {
			return
		}
		number = now
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// event is elements by their IDs, as an event of one line.
func event(html map[string]string) []byte {
	var line bytes.Buffer
	line.WriteString("data: ")
	_ = json.NewEncoder(&line).Encode(html) // strings can be written
	line.WriteByte('\n')
	return line.Bytes()
}
