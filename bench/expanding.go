package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/flakeward/flakeward/bench/expand"
	"github.com/flakeward/flakeward/internal/wire"
)

const selfExpand = "expand"

// expandLoad is the load of a client that expands every ID: runs, over several connections at once.
type expandLoad struct {
	Socket       string
	Connections  int
	Count        int           // IDs in a request
	Window       int           // requests that are under way at a time, on each connection
	Warm, Length time.Duration // rates count in Length, after Warm; duplicates always
	Files        string        // a directory, where each connection's IDs are written in the end
}

// eaten is what it reports.
type eaten struct {
	IDs        int64 // in Length
	Took       time.Duration
	All        int64 // counted one by one, from the first to the last
	Duplicates int64 // within one of its connections
}

// startExpand starts such a client and returns when each of its connections has its first IDs.
func startExpand(ctx context.Context, a expandLoad) (*self, error) {
	var ready bool
	return startReporting(ctx, selfExpand, a, &ready)
}

// serveExpand is that client.
func serveExpand(ctx context.Context, a expandLoad, report *json.Encoder) error {
	if err := os.MkdirAll(a.Files, 0o700); err != nil {
		return err
	}
	// One after the other, so that they have consecutive numbers in the daemon and are spread
	// evenly over its lanes.
	eaters := make([]*expander, a.Connections)
	for i := range eaters {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "unix", a.Socket)
		if err != nil {
			return err
		}
		defer conn.Close() // nothing is written that could be lost
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		eaters[i] = newExpander(conn, a)
		if err := eaters[i].begin(); err != nil {
			return err
		}
	}
	if err := report.Encode(true); err != nil {
		return err
	}
	begun := time.Now()
	var all sync.WaitGroup
	errs := make([]error, len(eaters))
	for i, e := range eaters {
		all.Go(func() { errs[i] = e.eat(begun) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var total eaten
	for i, e := range eaters {
		total.IDs += e.got.IDs
		total.Took = max(total.Took, e.got.Took)
		total.All += e.ids.Count()
		total.Duplicates += e.ids.Duplicates()
		if err := writeSet(filepath.Join(a.Files, strconv.Itoa(i)), e.ids); err != nil {
			return err
		}
	}
	return report.Encode(total)
}

// expander is one connection.
type expander struct {
	expandLoad
	conn    net.Conn
	in      *wire.Reader
	request []byte
	reply   []int64
	ids     *expand.Set
	got     eaten
}

func newExpander(conn net.Conn, a expandLoad) *expander {
	return &expander{
		expandLoad: a, conn: conn, in: wire.NewReader(conn), ids: expand.NewSet(),
		request: wire.AppendCommand(nil, "RUN", strconv.Itoa(a.Count)),
	}
}

// begin asks, as often as the window is wide, and takes the first reply.
func (e *expander) begin() error {
	for range e.Window {
		if _, err := e.conn.Write(e.request); err != nil {
			return err
		}
	}
	_, err := e.take()
	return err
}

// take takes one reply and asks again.
func (e *expander) take() (n int64, err error) {
	if e.reply, err = e.in.Ints(e.reply[:0]); err != nil {
		return 0, err
	}
	if len(e.reply)%2 != 1 {
		return 0, fmt.Errorf("%w: %d integers are no runs", wire.ErrFrame, len(e.reply))
	}
	for i := 1; i < len(e.reply); i += 2 {
		if err := e.ids.AddRun(e.reply[i], e.reply[0], e.reply[i+1]); err != nil {
			return n, err
		}
		n += e.reply[i+1]
	}
	_, err = e.conn.Write(e.request)
	return n, err
}

// eat takes replies until Warm and Length are over, and counts the IDs of those that came in
// Length.
func (e *expander) eat(begun time.Time) error {
	from := begun.Add(e.Warm)
	to := from.Add(e.Length)
	for {
		n, err := e.take()
		if err != nil {
			return err
		}
		now := time.Now()
		if now.Before(from) {
			continue
		}
		if now.After(to) {
			e.got.Took = e.Length
			return nil
		}
		e.got.IDs += n
	}
}

func writeSet(path string, s *expand.Set) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = s.WriteTo(f)
	return errors.Join(err, f.Close())
}

// together reads the files of several clients, below their directories, into one set.
func together(dirs ...string) (*expand.Set, error) {
	all := expand.NewSet()
	for _, dir := range dirs {
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if err := readSet(filepath.Join(dir, file.Name()), all); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func readSet(path string, into *expand.Set) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // only read
	if _, err := into.ReadFrom(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
