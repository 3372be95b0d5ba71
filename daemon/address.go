package daemon

import (
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/flakeward/flakeward/daemon/takeover"
)

// reserve opens the address on TCP before another process hands over, so that what is wrong with it
// is found while that one serves. An address that is in use has to come from that process.
func (d *Daemon) reserve(s *takeover.Settings) (err error) {
	if d.config.Listen.Address == "" {
		return nil
	}
	d.address, err = d.tcp.Listen()
	if errors.Is(err, syscall.EADDRINUSE) {
		s.Listen, err = d.config.Listen.Address, nil
	}
	return err
}

// openAddress has the server accept from the address on TCP, which may have been handed over.
func (d *Daemon) openAddress(from *predecessor) (err error) {
	handed := from.address()
	if handed != nil {
		defer handed.Close() // the listener has its own descriptor
	}
	switch {
	case d.config.Listen.Address == "":
		return nil
	case d.address != nil:
	case handed != nil:
		d.address, err = net.FileListener(handed)
	default:
		d.address, err = d.tcp.Listen()
	}
	if err != nil {
		return err
	}
	d.log.Info("listening on an address", "address", d.address.Addr(), "password", d.config.Listen.PasswordFile != "")
	d.server.Open(d.address)
	return nil
}

// closeAddress is for a start that failed: a server that was drained has closed the address.
func (d *Daemon) closeAddress() {
	if d.address != nil {
		_ = d.address.Close()
	}
}

// address is the listener on TCP that was handed over; nil: there was none.
func (p *predecessor) address() *os.File {
	if p == nil {
		return nil
	}
	return p.Address
}

// addressFile is a duplicate of the listener on TCP, to be handed over; nil: there is none.
func (d *Daemon) addressFile() (*os.File, error) {
	l, ok := d.address.(*net.TCPListener)
	if !ok {
		return nil, nil
	}
	return l.File()
}
