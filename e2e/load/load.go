// Package load asks a daemon for IDs at a steady rate, as a service beside it would.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/internal/wire"
)

const (
	pace     = time.Millisecond // between two looks at what is due
	together = 20               // requests in one write, at most
	chunk    = 8192             // IDs
)

// Stream asks for single IDs at a steady rate, however late the answers are, on one connection. Its
// goroutines run from OpenStream to Close.
type Stream struct {
	conn  net.Conn
	end   context.CancelFunc
	parts sync.WaitGroup
	worst atomic.Int64 // ns
	last  time.Time    // of the reader: when answers came last

	mu      sync.Mutex
	chunks  [][]int64 // the IDs: a slice that grew would be copied, and the client stall by it
	ids     uint64    // in all chunks
	refused uint64
	err     error
	goal    uint64        // IDs
	reached chan struct{} // closed at the goal, and at the end; nil if nobody waits
}

// OpenStream begins to ask for rate IDs a second, 1 or more.
func OpenStream(ctx context.Context, socket string, rate int) (*Stream, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("no connection to the daemon: %w", err)
	}
	ctx, end := context.WithCancel(ctx)
	s := &Stream{conn: conn, end: end, last: time.Now()}
	s.parts.Go(func() { s.ask(ctx, rate) })
	s.parts.Go(func() { s.fail(s.receive()) })
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return s, nil
}

// ask sends what is due. Where that fails, receive finds out as well, after the answers that are
// still there.
func (s *Stream) ask(ctx context.Context, rate int) {
	request := wire.AppendCommand(nil, "NEXT")
	var several []byte
	for range together {
		several = append(several, request...)
	}
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	begun, sent := time.Now(), 0
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		for due := int(time.Since(begun).Seconds() * float64(rate)); sent < due; {
			n := min(together, due-sent)
			if _, err := s.conn.Write(several[:n*len(request)]); err != nil {
				return
			}
			sent += n
		}
	}
}

// receive reads the answers.
func (s *Stream) receive() error {
	in := wire.NewReader(stamped{s})
	for {
		id, err := in.Int()
		var refused wire.Refused
		unavailable := errors.As(err, &refused) && strings.HasPrefix(string(refused), "UNAVAILABLE ")
		if err != nil && !unavailable {
			return err
		}
		s.mu.Lock()
		if unavailable {
			s.refused++
		} else {
			s.keep(id)
		}
		if s.reached != nil && s.ids >= s.goal {
			close(s.reached)
			s.reached = nil
		}
		s.mu.Unlock()
	}
}

// keep keeps an ID; s.mu is held.
func (s *Stream) keep(id int64) {
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last]) == cap(s.chunks[last]) {
		s.chunks = append(s.chunks, make([]int64, 0, chunk))
		last++
	}
	s.chunks[last] = append(s.chunks[last], id)
	s.ids++
}

// stamped notes the longest time between two arrivals of answers.
type stamped struct{ s *Stream }

func (r stamped) Read(b []byte) (int, error) {
	n, err := r.s.conn.Read(b)
	now := time.Now()
	if gap := int64(now.Sub(r.s.last)); gap > r.s.worst.Load() {
		r.s.worst.Store(gap)
	}
	r.s.last = now
	return n, err
}

// fail ends the stream because of err.
func (s *Stream) fail(err error) {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	if s.reached != nil {
		close(s.reached)
		s.reached = nil
	}
}

// Await waits until n more IDs have come. For one goroutine at a time.
func (s *Stream) Await(ctx context.Context, n int) error {
	s.mu.Lock()
	s.goal = s.ids + uint64(n)
	reached := make(chan struct{})
	s.reached = reached
	goal, err := s.goal, s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-reached:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids < goal {
		return fmt.Errorf("the stream of IDs has ended: %w", s.err)
	}
	return nil
}

// LongestGap is the longest time between two arrivals of answers since it was called last.
func (s *Stream) LongestGap() time.Duration { return time.Duration(s.worst.Swap(0)) }

// Close ends the stream and returns the IDs that came, in their order, and how many requests were
// refused as UNAVAILABLE. The error is what ended the stream before.
func (s *Stream) Close() (ids []int64, refused uint64, err error) {
	s.mu.Lock()
	err = s.err
	s.mu.Unlock()
	s.end()
	s.parts.Wait()
	if errors.Is(err, io.EOF) {
		err = errors.New("the daemon has closed the connection")
	}
	return slices.Concat(s.chunks...), s.refused, err
}
