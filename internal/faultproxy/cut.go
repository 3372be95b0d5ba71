package faultproxy

// Cut is a cut that was armed.
type Cut struct {
	left int64 // bytes of replies that still pass
	done chan struct{}
}

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
func (p *Proxy) CutReplyAt(n int64) *Cut {
	c := &Cut{left: n, done: make(chan struct{})}
	p.arm(c)
	return c
}

// Disarm takes back what CutReplyAt armed, if it has not fired.
func (p *Proxy) Disarm() { p.arm(nil) }

func (p *Proxy) arm(c *Cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = c
}

// reached returns how much of b passes, and the cut if that ends the connection. The proxy's mu is
// held.
func (p *Proxy) reached(b []byte) (pass []byte, fired *Cut) {
	c := p.cut
	switch {
	case c == nil:
		return b, nil
	case c.left >= int64(len(b)):
		c.left -= int64(len(b))
		return b, nil
	}
	p.cut = nil
	return b[:c.left], c
}
