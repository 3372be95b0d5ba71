package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/wire"
)

// hold opens connections to a server, makes one request on each, and keeps them until end.
func hold(ctx context.Context, socket string, connections int, command []string) (end func(), err error) {
	request := wire.AppendCommand(nil, command...)
	var dialer net.Dialer
	var held []net.Conn
	end = func() {
		for _, c := range held {
			_ = c.Close() // nothing is written that could be lost
		}
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	for range connections {
		conn, err := dialer.DialContext(ctx, "unix", socket)
		if err != nil {
			return nil, fmt.Errorf("no connection after %d: %w", len(held), err)
		}
		held = append(held, conn)
		if _, err := conn.Write(request); err != nil {
			return nil, err
		}
		// Both servers answer these requests by one integer, in a line that comes in one piece.
		if err := readLine(conn); err != nil {
			return nil, fmt.Errorf("no answer on connection %d: %w", len(held), err)
		}
	}
	return end, nil
}

// readLine reads a reply of one line with little memory: a reader for each of many connections
// would take more than what is measured.
func readLine(in io.Reader) error {
	var b [128]byte
	n := 0
	for n < len(b) {
		m, err := in.Read(b[n:])
		if err != nil {
			return err
		}
		if n += m; b[n-1] == '\n' {
			if b[0] == '-' {
				return wire.Refused(b[1 : n-2])
			}
			return nil
		}
	}
	return errors.New("the answer is longer than a number")
}

// openFiles raises the limit on open files of this process and of what it starts from now on, as far as
// that is allowed.
func openFiles(wanted uint64) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	if l.Cur >= wanted && l.Max >= wanted {
		// Set all the same: only a limit that this process has set is passed on.
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &l)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: max(l.Cur, wanted), Max: max(l.Max, wanted)}); err != nil {
		return fmt.Errorf("%d open files are needed and %d allowed: raise the limit (ulimit -n %d)", wanted, l.Max, wanted)
	}
	return nil
}
