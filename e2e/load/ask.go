package load

import (
	"context"
	"fmt"
	"net"

	"github.com/flakeward/flakeward/internal/wire"
)

// Ask sends one request on a connection of its own, and reads the reply.
func Ask[T any](ctx context.Context, socket string, read func(*wire.Reader) (T, error), request ...string) (reply T, err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return reply, fmt.Errorf("no connection to the daemon: %w", err)
	}
	defer conn.Close() // nothing is written that could be lost
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write(wire.AppendCommand(nil, request...)); err != nil {
		return reply, err
	}
	return read(wire.NewReader(conn))
}
