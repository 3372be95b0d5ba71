package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/flakeward/flakeward/daemon/admin"
	"github.com/flakeward/flakeward/daemon/rest"
	"github.com/flakeward/flakeward/daemon/rpc"
)

// adminServer answers on an address of TCP.
type adminServer struct {
	*admin.Server
	rest *rest.Server
	http *http.Server

	listener net.Listener    // nil: not yet
	open     context.Context // ends with drain
	close    context.CancelFunc
}

// adminSocket tells users who come by that address from those of the socket.
const adminSocket = 1

// adminStreams is how many requests of an HTTP/2 connection are answered at once: the budget of
// memory does not count connections of the address.
const adminStreams = 16

// openAdmin makes the server of the address, if there is one. Its requests are answered from a
// config that is the socket's otherwise.
func (w *web) openAdmin(d *Daemon, config rest.Config) (err error) {
	if d.config.Admin.Address == "" {
		return nil
	}
	w.admin = &adminServer{}
	w.admin.open, w.admin.close = context.WithCancel(context.Background())
	if w.admin.Server, err = admin.New(d.config.Admin); err != nil {
		return err
	}
	config.Unserved, config.Socket, config.Log = w.admin.Refuse, adminSocket, d.log.Named("admin")
	config.RPC = rpc.New(config)
	w.admin.rest = rest.New(config)
	w.admin.http = w.admin.rest.HTTP()
	w.admin.http.HTTP2.MaxConcurrentStreams = adminStreams
	w.admin.Attend(w.admin.http)
	return nil
}

// listen opens the address. It does nothing without one, as do serve and drain. Where another
// process hands over, it may have the address still: then serve opens it.
func (a *adminServer) listen(handedOver bool) (err error) {
	if a == nil {
		return nil
	}
	if a.listener, err = a.Listen(); handedOver && err != nil && !errors.Is(err, admin.ErrNotLocal) {
		return nil
	}
	return err
}

// listenAgain is how often an address is tried that another process has.
const listenAgain = 50 * time.Millisecond

// serve answers until drain.
func (a *adminServer) serve(d *Daemon) error {
	if a == nil {
		return nil
	}
	for a.listener == nil {
		if d.clock.Sleep(a.open, listenAgain) != nil {
			return nil
		}
		a.listener, _ = a.Listen()
	}
	d.log.Info("answering HTTP on an address", "address", a.listener.Addr(), "tls", d.config.Admin.Cert != "", "ids", d.config.Admin.IDs)
	if err := a.http.Serve(a.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("--admin: %w", err)
	}
	return nil
}

// drain answers what is under way, and ends.
func (a *adminServer) drain(ctx context.Context) {
	if a == nil {
		return
	}
	a.close()
	if a.http.Shutdown(ctx) != nil {
		_ = a.http.Close()
	}
	a.rest.Wait()
}
