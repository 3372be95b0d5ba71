package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultSocket is where the socket of a daemon is that root started without naming one.
const DefaultSocket = "/run/flakeward/flakeward.sock"

// Defaults of the options.
const (
	DefaultMaxAge      = 5 * time.Millisecond
	DefaultDialTimeout = time.Second
	DefaultTimeout     = 5 * time.Second
)

// Option changes a default of Open.
type Option func(*options)

type options struct {
	maxAge      time.Duration
	tenant      []string // the words that ask for it; none: 0
	password    string   // empty: none is given
	dialTimeout time.Duration
	timeout     time.Duration
	largest     int64
	cluster     string // a UUID in lower case, if one is demanded
	demands     bool

	dial func(context.Context) (net.Conn, error) // nil: the socket
}

// MaxAge bounds how old an ID from stock may be when it is handed out: from 0, with which every
// call asks the daemon, to an hour. See the package's documentation for what counts. The default is
// DefaultMaxAge.
func MaxAge(d time.Duration) Option { return func(o *options) { o.maxAge = d } }

// Tenant asks for the IDs of one tenant; the cluster's layout says how many there are. The default
// is 0, which every layout has.
func Tenant(t uint32) Option {
	return func(o *options) {
		if o.tenant = nil; t > 0 {
			o.tenant = []string{"TENANT", strconv.FormatUint(uint64(t), 10)}
		}
	}
}

// Password is given at each connection: the one of the daemon's --password-file, which an address
// on TCP may need.
func Password(password string) Option { return func(o *options) { o.password = password } }

// DialTimeout bounds how long one attempt to connect may take, the daemon's greeting included:
// above 0. The default is DefaultDialTimeout.
func DialTimeout(d time.Duration) Option { return func(o *options) { o.dialTimeout = d } }

// Timeout bounds how long a call waits for a daemon that cannot be reached before it returns an
// *UnreachableError, if its context does not end sooner: 0 or more. Meanwhile the daemon is tried
// again and again, so that a restart is not noticed. A daemon that is reached and does not answer,
// as one that is stopped, is waited for as long as the context allows. The default is
// DefaultTimeout.
func Timeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// LargestRun bounds how many IDs are asked for in one request: 1 or more. The default is what the
// daemon allows (its --max-count).
func LargestRun(n int) Option { return func(o *options) { o.largest = int64(n) } }

// Cluster demands IDs of one cluster: the UUID is the one that `flakeward status` shows as
// cluster_id, in hexadecimal digits and hyphens. The client looks at the daemon's cluster at each
// connection, before it asks for an ID there. The error of a daemon in another cluster is a
// *ClusterError, and so is that of one that has joined none yet, which is waited for as Timeout
// says. The default is to take IDs of whichever cluster the daemon is in, which may be one of its
// own.
func Cluster(uuid string) Option {
	return func(o *options) { o.cluster, o.demands = strings.ToLower(uuid), true }
}

// isUUID is the form of RFC 9562, section 4, in lower case.
var isUUID = regexp.MustCompile("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$").MatchString

func (o options) check(socket string) error {
	switch {
	case o.demands && !isUUID(o.cluster):
		return fmt.Errorf("flakeward: Cluster(%q) is not a cluster's UUID: take the cluster_id that `flakeward status` shows", o.cluster)
	case socket == "" && o.dial == nil:
		return errors.New("flakeward: the socket's path is empty: name the socket of a running daemon; `flakeward status` shows it")
	case o.maxAge < 0 || o.maxAge > time.Hour:
		return fmt.Errorf("flakeward: MaxAge(%v) is not within 0s and 1h", o.maxAge)
	case o.dialTimeout <= 0:
		return fmt.Errorf("flakeward: DialTimeout(%v) is not above 0s", o.dialTimeout)
	case o.timeout < 0:
		return fmt.Errorf("flakeward: Timeout(%v) is below 0s", o.timeout)
	case o.largest < 1:
		return fmt.Errorf("flakeward: LargestRun(%d) is not above 0", o.largest)
	}
	return nil
}

// Client hands out IDs of one daemon. Its methods may be called from any goroutine. Open makes one,
// and Close ends it.
type Client struct {
	current atomic.Pointer[run] // what Next draws on; never nil
	_       [56]byte            // what follows is written to

	nothing *run // what is drawn on while there is no stock: it has no IDs
	socket  string
	options

	// Of the client's own, not of the package's: a channel of one synctest bubble is of no use in
	// another.
	spare sync.Pool

	mu      sync.Mutex
	behind  []*run // runs to draw on after the current one
	waiting queue  // calls that found no stock; while there are any, there is none
	low     bool   // the stock is nearly used up
	sends   uint64 // requests so far
	used    int64  // IDs handed out of runs that are no longer current
	demand  demand
	lastErr error // what the last attempt to reach the daemon failed with; nil after a success
	conn    net.Conn
	closed  bool

	origin atomic.Pointer[origin] // of all that is in stock; nil: there was no connection yet

	wake  chan struct{} // signalled when there may be something to fetch
	ctx   context.Context
	stop  context.CancelFunc
	ended chan struct{} // closed when the fetcher is gone
}

// Open makes a client of the daemon at a socket, which is the path of a Unix socket, or host:port
// where the daemon has such an address (its --listen). It does not connect: that is done when the
// first ID is asked for. It fails only if an option is out of its range or the path is empty.
func Open(socket string, opts ...Option) (*Client, error) {
	o := options{maxAge: DefaultMaxAge, dialTimeout: DefaultDialTimeout, timeout: DefaultTimeout, largest: 1 << 30}
	for _, set := range opts {
		set(&o)
	}
	if err := o.check(socket); err != nil {
		return nil, err
	}
	c := &Client{nothing: &run{}, socket: socket, options: o, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if c.dial == nil {
		network := "unix"
		if _, _, err := net.SplitHostPort(socket); err == nil && !strings.Contains(socket, "/") {
			network = "tcp"
		}
		c.dial = func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, socket)
		}
	}
	c.current.Store(c.nothing)
	c.ctx, c.stop = context.WithCancel(context.Background())
	f := fetcher{client: c}
	go f.run()
	return c, nil
}

// Close ends the connection and the client's goroutine, and returns when both are gone. Calls that
// wait return ErrClosed, and so do all calls that begin after Close has. It may be called more than
// once. The error is always nil.
func (c *Client) Close() error {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		c.stop()
		if c.conn != nil {
			_ = c.conn.Close()
		}
		c.behind = nil
		c.current.Store(c.nothing)
		c.fail(func(*waiter) bool { return true }, ErrClosed)
	}
	c.mu.Unlock()
	<-c.ended
	return nil
}
