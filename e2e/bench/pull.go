package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"github.com/flakeward/flakeward/internal/wire"
)

const selfPull = "pull"

// pullWindow is how many requests are under way at a time.
const pullWindow = 4

// startPull starts a client, in a process of its own, that asks the daemon at that socket for runs
// until the connection ends. It returns when the client has its first IDs.
func startPull(ctx context.Context, socket string) (*self, error) {
	var first bool
	return startReporting(ctx, selfPull, socket, &first)
}

// pull is the client: it reports once it has IDs, and again when the daemon has ended the
// connection.
func pull(ctx context.Context, socket string, report *json.Encoder) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("no connection to the daemon: %w", err)
	}
	defer conn.Close() // nothing is written that could be lost
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	request := wire.AppendCommand(nil, "RUN", "5000")
	for range pullWindow {
		if _, err := conn.Write(request); err != nil {
			return err
		}
	}
	in := wire.NewReader(conn)
	var reply []int64
	for first := true; ; first = false {
		reply, err = in.Ints(reply[:0])
		if first && err != nil {
			return fmt.Errorf("the daemon gave a client nothing: %w", err)
		}
		if first {
			err = report.Encode(true)
		}
		if err == nil {
			_, err = conn.Write(request)
		}
		if err != nil { // the daemon is gone
			return report.Encode(false)
		}
	}
}
