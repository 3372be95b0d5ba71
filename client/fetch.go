package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/wire"
)

// fetcher is the client's goroutine: it alone talks to the daemon, one request at a time. Without
// demand it sleeps.
type fetcher struct {
	client *Client

	link     *link
	failures int // attempts since the last reply
	request  []byte
	pairs    []wire.Pair
	runs     []*run
}

// link is a connection that has been greeted.
type link struct {
	conn    net.Conn
	in      *wire.Reader
	origin  *origin
	most    int64 // IDs in a request
	next    int64 // IDs in the next one, at most as many
	replied bool
}

func (f *fetcher) run() {
	defer close(f.client.ended)
	c := f.client
	for c.ctx.Err() == nil {
		if !c.needed() {
			select {
			case <-c.wake:
			case <-c.ctx.Done():
			}
			continue
		}
		if err := f.fetch(); err != nil {
			f.drop()
			f.backOff(c.failed(err, f.failures))
		}
	}
	f.drop()
}

// fetch connects if there is no connection, and makes one request. It returns what has gone wrong
// with the connection.
func (f *fetcher) fetch() error {
	c := f.client
	if f.link == nil {
		link, err := connect(c.ctx, c)
		if err != nil {
			f.failures++
			return err
		}
		f.link = link
		if !c.use(link) {
			return ErrClosed
		}
	}
	n, sends := c.plan(f.link.next)
	if n == 0 {
		return nil
	}
	f.link.next = f.link.most
	err := f.ask(n, sends)
	var refusal wire.Refused
	if errors.As(err, &refusal) {
		if err = nil; !f.link.lower(refusal, n) {
			c.refused(sends, refused(refusal))
		}
	}
	if err == nil {
		f.failures, f.link.replied = 0, true
		return nil
	}
	// A connection that has worked is made anew at once; its end is noticed no earlier than this if
	// the daemon was started again.
	if !f.link.replied {
		f.failures++
	}
	return c.means(err, broke)
}

// What an error of a connection that ended came in the midst of.
const (
	broke    = "the connection broke"
	greeting = "no greeting"
)

// means is what callers are told of an error that a request, or its reply, has met.
func (c *Client) means(err error, where string) error {
	var refusal wire.Refused
	switch {
	case errors.As(err, &refusal):
		return refused(refusal)
	case errors.Is(err, wire.ErrFrame):
		return &ProtocolError{Socket: c.socket, Err: err}
	}
	return &UnreachableError{Socket: c.socket, Err: fmt.Errorf("%s: %w", where, err)}
}

// lower has the next request, or all of them, ask for no more than the daemon says that it can
// give. It returns false if that is not why a request for n IDs was refused, or nothing can be had.
func (l *link) lower(r wire.Refused, n int64) bool {
	largest, now, ok := wire.AtMost(r)
	if !ok || largest >= n {
		return false
	}
	if l.next = largest; !now {
		l.most = largest
	}
	return true
}

// ask makes one request for n IDs, and takes in the reply.
func (f *fetcher) ask(n int64, sends uint64) error {
	c := f.client
	f.request = wire.AppendCommand(f.request[:0], append([]string{"RUN", strconv.FormatInt(n, 10)}, c.tenant...)...)
	begun := time.Now()
	if err := f.link.in.Send(f.link.conn, f.request); err != nil {
		return err
	}
	pairs, step, err := f.link.in.Runs(f.pairs[:0], n)
	took := time.Since(begun)
	if err != nil {
		return err
	}
	if f.link.origin.cluster == "" { // the daemon has joined one since the greeting
		return errJoined
	}
	f.pairs = pairs
	if cap(f.pairs) > keptPairs {
		f.pairs = nil
	}
	f.runs = f.runs[:0]
	total := int64(0)
	for _, p := range pairs {
		f.runs = append(f.runs, &run{n: p.N, first: p.First, step: step, at: begun})
		total += p.N
	}
	c.arrived(sends, f.runs, total, took)
	clear(f.runs)
	return nil
}

// errJoined has a connection made anew, whose greeting says whose IDs it gives. Those that came are
// lost.
var errJoined = errors.New("the daemon gives IDs, and told no cluster before")

// bufferSize is also the longest line of a reply; a refusal has at most some hundred bytes.
const bufferSize = 4 << 10

// keptPairs is for how many pairs of a reply room is kept.
const keptPairs = 1024

// connect dials, and asks what the daemon is and how much it gives at a time. The connection is
// closed with ctx until that is known.
func connect(ctx context.Context, c *Client) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, c.dialTimeout)
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, &UnreachableError{Socket: c.socket, Err: err}
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	l := &link{conn: conn, in: wire.NewReaderSize(conn, bufferSize)}
	if err := l.greet(ctx, c); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return l, nil
}

// Info returns what the daemon says about itself: its reply to INFO, on a connection of its own.
func (c *Client) Info(ctx context.Context) (string, error) {
	l, err := connect(ctx, c)
	if err != nil {
		return "", err
	}
	defer l.conn.Close() // it was for one question
	defer context.AfterFunc(ctx, func() { _ = l.conn.SetDeadline(time.Unix(1, 0)) })()
	text := ""
	if err = l.in.Send(l.conn, wire.AppendCommand(nil, "INFO")); err == nil {
		text, err = l.in.Bulk()
	}
	if err != nil {
		return "", c.means(err, broke)
	}
	return text, nil
}

func (l *link) greet(ctx context.Context, c *Client) error {
	deadline, _ := ctx.Deadline()
	var text string
	err := l.conn.SetDeadline(deadline)
	if ctx.Err() != nil {
		err = ctx.Err() // whose deadline this was not to replace
	}
	var request []byte
	if c.password != "" {
		request = wire.AppendCommand(request, "AUTH", "default", c.password)
	}
	if err == nil {
		err = l.in.Send(l.conn, wire.AppendCommand(request, "INFO", "server", "cluster"))
	}
	if err == nil && c.password != "" {
		err = l.in.OK()
	}
	if err == nil {
		text, err = l.in.Bulk()
	}
	if err == nil {
		err = l.conn.SetDeadline(time.Time{})
	}
	if err != nil {
		return c.means(err, greeting)
	}
	said := info.Parse(text)
	text, _ = said.Get(info.MaxCount)
	most, err := strconv.ParseInt(text, 10, 32)
	if err != nil || most < 1 {
		return &ProtocolError{Socket: c.socket, Err: errors.New("its INFO has no max_count")}
	}
	l.most, l.origin = min(most, c.largest), originOf(said)
	l.next = l.most
	// A connection is of one cluster: a daemon whose cluster becomes another one closes those that
	// it has.
	if found := l.origin.cluster; c.demands && !strings.EqualFold(found, c.cluster) {
		return &ClusterError{Socket: c.socket, Want: c.cluster, Found: found}
	}
	return nil
}

// drop ends the connection.
func (f *fetcher) drop() {
	if f.link != nil {
		_ = f.link.conn.Close()
		f.link = nil
	}
}

const (
	firstDelay   = 5 * time.Millisecond
	longestDelay = 500 * time.Millisecond
)

// delay is how long to wait after that many failures in a row: up to twice as long each time, and
// not the same for all clients of a daemon.
func delay(failures int, random float64) time.Duration {
	if failures < 1 {
		return 0
	}
	d := longestDelay
	if shift := failures - 1; shift < 16 {
		d = min(d, firstDelay<<shift)
	}
	return d/2 + time.Duration(random*float64(d/2))
}

func (f *fetcher) backOff(wait bool) {
	d := delay(f.failures, rand.Float64())
	if !wait || d == 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.client.ctx.Done():
	}
}

// The methods below are the fetcher's side of the stock.

// needed reports whether there is a reason to talk to the daemon.
func (c *Client) needed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting.first != nil || c.low
}

// use makes a connection the one that Close closes; false: it is too late. Where its daemon is of
// another cluster than the one before, there is no stock afterwards.
func (c *Client) use(l *link) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = l.conn
	last := c.origin.Load()
	if last != nil && last.cluster == l.origin.cluster && last.layout == l.origin.layout {
		return !c.closed
	}
	c.used += c.current.Load().used()
	c.behind = nil
	c.current.Store(c.nothing)
	l.origin.first = last == nil
	c.origin.Store(l.origin)
	return !c.closed
}

// plan says how many IDs to ask for, at most most, and numbers the request; 0: none.
func (c *Client) plan(most int64) (n int64, sends uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, handed := time.Now(), c.handed()
	n = c.demand.size(handed, now, c.maxAge, most)
	c.low = false
	if c.waiting.first == nil && n < 2 {
		return 0, 0
	}
	n = min(max(n, c.waiting.need), most)
	c.demand.sent(handed, now)
	c.sends++
	return n, c.sends
}

// arrived takes in a reply of runs with total IDs.
func (c *Client) arrived(sends uint64, runs []*run, total int64, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastErr = nil
	if c.closed {
		return
	}
	c.demand.answered(took)
	c.stock(sends, runs, total-c.demand.lead(total))
}

// refused answers those who waited for the reply.
func (c *Client) refused(sends uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastErr = nil
	c.fail(func(w *waiter) bool { return w.sends < sends }, err)
}

// failed answers those whom trying again does not help, or for whom it has been tried long enough.
// It reports whether to wait before the next attempt.
func (c *Client) failed(err error, failures int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.lastErr, c.low = err, false
	now, hopeless := time.Now(), hopeless(err)
	c.fail(func(w *waiter) bool { return hopeless || failures > 0 && now.Sub(w.since) >= c.timeout }, err)
	return true
}

// hopeless reports whether an attempt would fail again until somebody changes something.
func hopeless(err error) bool {
	var unreachable *UnreachableError
	var elsewhere *ClusterError
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		return !strings.HasPrefix(refused.Text, "too many connections") // there may be fewer the next time
	case errors.As(err, &unreachable):
		err = unreachable.Err
		return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSOCK)
	case errors.As(err, &elsewhere):
		return elsewhere.Found != ""
	}
	return true
}
