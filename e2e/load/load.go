// Package load asks a daemon for IDs as a service beside it would, and keeps what it gets.
package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flakeward/flakeward/internal/wire"
)

const (
	chunk = 1024    // IDs
	open  = 1 << 16 // rows under way where their number is not bounded
	// mostTime is how long replies are awaited at the end.
	mostTime = time.Minute
)

// Config is how a client asks.
type Config struct {
	Request []string // for one ID; nil: NEXT
	Rate    int      // requests a second, however late the answers are; 0: as fast as they are answered
	Row     int      // requests in one write; 0: as many as are due in a millisecond
	Window  int      // rows under way at most; 0: any number
}

// Client asks for single IDs on one connection, which it never makes again. Its goroutines run from
// Open to Close.
type Client struct {
	conn            *net.UnixConn
	row             int
	sent            chan time.Time // when each row under way was
	end             context.CancelFunc
	asking, reading sync.WaitGroup

	mu      sync.Mutex
	longest time.Duration // wait for a row's last reply
	chunks  [][]int64     // the IDs: a slice that grew would be copied, and the client stall by it
	ids     uint64        // in all chunks
	refused uint64
	ending  bool
	err     error         // what ended the connection
	goal    uint64        // IDs
	reached chan struct{} // closed at the goal, and at the end; nil if nobody waits
}

// Open begins to ask.
func Open(ctx context.Context, socket string, config Config) (*Client, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("no connection to the daemon: %w", err)
	}
	if config.Request == nil {
		config.Request = []string{"NEXT"}
	}
	if config.Row == 0 {
		config.Row = max(1, config.Rate/1000)
	}
	if config.Window == 0 {
		config.Window = open
	}
	asking, end := context.WithCancel(ctx)
	c := &Client{conn: conn.(*net.UnixConn), row: config.Row, sent: make(chan time.Time, config.Window), end: end}
	c.asking.Go(func() { c.ask(asking, config) })
	c.reading.Go(func() { c.ended(c.receive()) })
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return c, nil
}

// ask sends rows at the rate, from any time of the first one's; after a stall it catches up. Where
// that fails, receive finds out as well, after the answers that are still there.
func (c *Client) ask(ctx context.Context, config Config) {
	request := bytes.Repeat(wire.AppendCommand(nil, config.Request...), config.Row)
	var pause time.Duration
	if config.Rate > 0 {
		pause = time.Second * time.Duration(config.Row) / time.Duration(config.Rate)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for due := time.Now().Add(rand.N(pause + 1)); ; due = due.Add(pause) {
		if early := time.Until(due); early > 0 {
			timer.Reset(early)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		select {
		case c.sent <- time.Now():
		case <-ctx.Done():
			return
		}
		if _, err := c.conn.Write(request); err != nil {
			return
		}
	}
}

// ErrWrong is an answer that no fault excuses.
var ErrWrong = errors.New("a promise is broken")

// receive reads the answers. It wants each ID above the one before.
func (c *Client) receive() error {
	in, last := wire.NewReaderSize(c.conn, 16<<10), int64(-1)
	for n := 0; ; n++ {
		id, err := in.Int()
		var refused wire.Refused
		unavailable := errors.As(err, &refused) && strings.HasPrefix(string(refused), "UNAVAILABLE ")
		switch {
		case (err == nil || unavailable) && n%c.row == 0 && len(c.sent) == 0:
			return fmt.Errorf("%w: an answer that nobody asked for", ErrWrong)
		case unavailable:
		case refused != "" || errors.Is(err, wire.ErrFrame):
			return fmt.Errorf("%w: %w", ErrWrong, err)
		case err != nil:
			return err
		case id <= last:
			return fmt.Errorf("%w: %d came after %d", ErrWrong, id, last)
		default:
			last = id
		}
		c.mu.Lock()
		if unavailable {
			c.refused++
		} else {
			c.keep(id)
		}
		if (n+1)%c.row == 0 {
			c.longest = max(c.longest, time.Since(<-c.sent))
			c.leave()
		}
		if c.reached != nil && c.ids >= c.goal {
			close(c.reached)
			c.reached = nil
		}
		c.mu.Unlock()
	}
}

// keep keeps an ID; c.mu is held.
func (c *Client) keep(id int64) {
	last := len(c.chunks) - 1
	if last < 0 || len(c.chunks[last]) == cap(c.chunks[last]) {
		c.chunks = append(c.chunks, make([]int64, 0, chunk))
		last++
	}
	c.chunks[last] = append(c.chunks[last], id)
	c.ids++
}

// leave has the daemon close the connection, once nothing more is asked and all is answered: a
// daemon answers nobody who has gone. c.mu is held.
func (c *Client) leave() {
	if c.ending && len(c.sent) == 0 {
		_ = c.conn.CloseWrite() // an error is met again by the reader
	}
}

// ended notes that the connection has, because of err.
func (c *Client) ended(err error) {
	c.end()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !errors.Is(err, io.EOF):
		c.err = err
	case !c.ending || len(c.sent) > 0:
		c.err = fmt.Errorf("the daemon has closed the connection, with %d rows not answered", len(c.sent))
	}
	if c.reached != nil {
		close(c.reached)
		c.reached = nil
	}
}

// Await waits until n more IDs have come. For one goroutine at a time.
func (c *Client) Await(ctx context.Context, n int) error {
	c.mu.Lock()
	c.goal = c.ids + uint64(n)
	reached := make(chan struct{})
	c.reached = reached
	goal, err := c.goal, c.err
	c.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-reached:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids < goal {
		return fmt.Errorf("no more IDs come: %w", c.err)
	}
	return nil
}

// Longest is the longest time that a row waited for its last answer, of those that got it since
// Longest was called last.
func (c *Client) Longest() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	longest := c.longest
	c.longest = 0
	return longest
}

// Close asks no more, reads what is still answered, and returns the IDs that came, in their order,
// and how many requests were refused as UNAVAILABLE. The error is what ended the connection before.
func (c *Client) Close() (ids []int64, refused uint64, err error) {
	c.end()
	_ = c.conn.SetDeadline(time.Now().Add(mostTime)) // an error is met again by the reader
	c.asking.Wait()
	c.mu.Lock()
	c.ending = true
	c.leave()
	c.mu.Unlock()
	c.reading.Wait()
	_ = c.conn.Close() // nothing is written that could be lost
	return slices.Concat(c.chunks...), c.refused, c.err
}
