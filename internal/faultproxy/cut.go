package faultproxy

// Cut is a cut that was armed.
type Cut struct {
	skip    int   // bursts that still begin before the one that counts
	left    int64 // bytes of replies that still pass once it counts
	inBurst bool  // the burst that counts has begun
	by      *link // whose it is; nil: of any connection
	done    chan struct{}
}

// Done is closed when the connection has been cut.
func (c *Cut) Done() <-chan struct{} { return c.done }

// Fired reports whether the connection has been cut.
func (c *Cut) Fired() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// CutReplyAt cuts the connection that brings the reply in which, counted from now on
// over all connections, byte n is: n bytes still pass, and with 0 none of the next
// reply does. The connections that are made after it are forwarded. It takes the place
// of a cut that was armed before and has not fired.
func (p *Proxy) CutReplyAt(n int64) *Cut { return p.arm(&Cut{inBurst: true, left: n}) }

// CutBurstAt is CutReplyAt with n counted from the beginning of the k-th burst from now
// on, the first being 0. A burst is what the server sends on one connection from one
// request to the next. If it is shorter than n, counting goes on into the next one of
// that connection.
func (p *Proxy) CutBurstAt(k int, n int64) *Cut { return p.arm(&Cut{skip: k, left: n}) }

// Disarm takes back what CutReplyAt or CutBurstAt armed, if it has not fired.
func (p *Proxy) Disarm() { p.arm(nil) }

func (p *Proxy) arm(c *Cut) *Cut {
	if c != nil {
		c.done = make(chan struct{})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = c
	for l := range p.links {
		l.asked = false
	}
	return c
}

// reached returns how much of b passes, and the cut if that ends the connection. The proxy's mu is
// held.
func (p *Proxy) reached(l *link, b []byte) (pass []byte, fired *Cut) {
	c := p.cut
	begins := l.asked
	l.asked = false
	if c == nil {
		return b, nil
	}
	if !c.inBurst {
		if !begins {
			return b, nil
		}
		if c.skip > 0 {
			c.skip--
			return b, nil
		}
		c.inBurst, c.by = true, l
	}
	if c.by != nil && c.by != l {
		return b, nil
	}
	if c.left >= int64(len(b)) {
		c.left -= int64(len(b))
		return b, nil
	}
	p.cut = nil
	return b[:c.left], c
}
