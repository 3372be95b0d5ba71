package zk

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord/secure"
)

const (
	// dialTimeout bounds a look-up of names, and a connection with its handshake. It
	// is short, for a network that is back is noticed only by the next try.
	dialTimeout = 2 * time.Second
	// The wait for a server to open a session on a connection doubles each time that
	// it was too short, from the first to the last: a server that was just started
	// may never answer, and one that thousands return to at once needs its time. The
	// library's own limit is more than six times the session's timeout.
	firstWait = time.Second
	lastWait  = 8 * time.Second
	// The pauses between rounds through all servers: they double from the first to
	// the last one, so servers that are back are found within a second.
	firstPause = 50 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// clock is for waiting and for measuring what is waited for: nothing that is
// stored or decided comes from it.
var clock clockguard.System

// dialer finds servers for the library, which calls it from one goroutine: Next,
// then dial. It goes through all addresses that the names have, in rounds of random
// order, and looks the names up again for each round.
type dialer struct {
	servers []string // host:port
	tls     *tls.Config
	current *secure.Current // of tls
	life    context.Context // ends when no connection is wanted any more
	network func(ctx context.Context, network, address string) (net.Conn, error)

	round []target // what is left of this round
	now   target
	pause time.Duration // before the next round
	wait  time.Duration // for the next session

	mu     sync.Mutex
	wire   *wire
	served bool  // requests could be sent on it
	seen   bool  // there was a session before
	last   error // why there is no session now
}

// target is an address of a server.
type target struct {
	address string // of the host, with its port
	host    string // as it was configured
}

func newDialer(c *client) *dialer {
	return &dialer{servers: c.servers.Addresses, tls: c.servers.TLS, current: c.servers.Current, life: c.life, network: c.network, wait: firstWait}
}

// Init, Len and Connected are what the library wants besides Next.
func (d *dialer) Init([]string) error { return nil }

// Len implements the library's HostProvider.
func (d *dialer) Len() int { return len(d.servers) }

// Connected implements the library's HostProvider.
func (d *dialer) Connected() {}

// Next waits until the next server is to be tried. It answers true, which makes
// the library look whether it is closed, and wait a second otherwise, only when
// it is closed: else the pauses are those of this dialer.
func (d *dialer) Next() (server string, closed bool) {
	if d.cut() {
		d.round, d.pause, d.wait = nil, firstPause, firstWait
	}
	if len(d.round) == 0 {
		wait(d.life, d.pause/2+rand.N(d.pause/2+1))
		d.pause = min(max(2*d.pause, firstPause), lastPause)
		d.round = d.lookUp()
	}
	d.now, d.round = d.round[0], d.round[1:]
	return d.now.address, d.life.Err() != nil
}

// lookUp returns the addresses of all servers in random order. A name that cannot
// be looked up stays: dialing it tells why.
func (d *dialer) lookUp() []target {
	ctx, cancel := context.WithTimeout(d.life, dialTimeout)
	defer cancel()
	var all []target
	for _, server := range d.servers {
		host, port, err := net.SplitHostPort(server)
		if err != nil { // configured() refuses it
			host, port = server, ""
		}
		addresses, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			addresses = []string{host}
		}
		for _, a := range addresses {
			all = append(all, target{address: net.JoinHostPort(a, port), host: host})
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// dial implements the library's Dialer. The timeout that it is called with is not
// enough for a handshake over a long line, and cannot be configured.
func (d *dialer) dial(network, address string, _ time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(d.life, dialTimeout)
	defer cancel()
	conn, err := d.network(ctx, network, address)
	if err == nil && d.tls != nil {
		conn, err = d.shake(ctx, conn)
	}
	if err != nil {
		d.note(err)
		return nil, err
	}
	w := newWire(d, conn)
	d.mu.Lock()
	d.wire, d.served = w, false
	d.mu.Unlock()
	return w, nil
}

// shake makes the TLS connection. The server must prove the name that was configured.
func (d *dialer) shake(ctx context.Context, conn net.Conn) (net.Conn, error) {
	config := d.current.TLS(d.tls).Clone()
	config.ServerName = d.now.host
	shaken := tls.Client(conn, config)
	err := shaken.HandshakeContext(ctx)
	if err == nil {
		return shaken, nil
	}
	conn.Close()
	return nil, fmt.Errorf("%s: %w", d.now.address, secure.Handshake(err))
}

// opened is called when the connection has got its session, and returns the
// timeout that the server gave it.
func (d *dialer) opened() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = true
	if d.wire == nil { // cut meanwhile
		return 0
	}
	return d.wire.timeout
}

// serves is called when requests can be sent on the connection.
func (d *dialer) serves() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last, d.served = nil, true
}

// cut ends the connection, and reports whether requests could be sent on it.
func (d *dialer) cut() (served bool) {
	d.mu.Lock()
	w, served := d.wire, d.served
	d.wire, d.served = nil, false
	d.mu.Unlock()
	if w != nil {
		w.Close()
	}
	return served
}

// note keeps the reason why there is no session, for the errors of requests.
func (d *dialer) note(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = err
}

// reason returns what note kept since the last session was opened, or nil.
func (d *dialer) reason() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// hadSession reports whether there was a session before.
func (d *dialer) hadSession() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen
}

// wait returns after d or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	_ = clock.Sleep(ctx, d) // the only error is that ctx ended
}
