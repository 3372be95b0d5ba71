package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/internal/wire"
)

const selfPull = "pull"

// order is what one client in a process of its own does: the same request again and again over one
// connection.
type order struct {
	Socket string
	Run    bool // RUN, which answers with runs, rather than NEXT with a count
	Count  int  // IDs in a request
	Window int  // requests that are under way at a time
	Warm   time.Duration
	Length time.Duration // measured, after Warm
}

// pulled is what the client reports, once at the first reply and once at its end.
type pulled struct {
	IDs     int64         // whose whole reply was read
	Took    time.Duration // in which they came
	Refused int64         // requests
}

func (p pulled) rate() float64 { return float64(p.IDs) / p.Took.Seconds() }

// startPull starts the client and returns when it has its first IDs.
func startPull(ctx context.Context, o order) (*self, error) {
	var first pulled
	s, err := startReporting(ctx, selfPull, o, &first)
	if err == nil && first.IDs == 0 {
		s.end()
		return nil, fmt.Errorf("the daemon gave a client nothing in %v, and refused %d requests of %v", first.Took, first.Refused, o)
	}
	return s, err
}

// pull is the client: it reports and ends when its time is over or the daemon ends the connection.
func pull(ctx context.Context, o order, report *json.Encoder) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", o.Socket)
	if err != nil {
		return fmt.Errorf("no connection to the daemon: %w", err)
	}
	defer conn.Close() // nothing is written that could be lost
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	return o.follow(conn, report)
}

func (o order) follow(conn net.Conn, report *json.Encoder) error {
	word := "NEXT"
	if o.Run {
		word = "RUN"
	}
	request := wire.AppendCommand(nil, word, strconv.Itoa(o.Count))
	for range o.Window {
		if _, err := conn.Write(request); err != nil {
			return err
		}
	}
	in := wire.NewReader(conn)
	var reply []int64
	var p pulled
	var err error
	told, begun, measuring := false, time.Now(), o.Warm == 0
	for {
		reply, err = in.Ints(reply[:0])
		now := time.Now()
		p.Took = now.Sub(begun)
		var refused wire.Refused
		switch {
		case errors.As(err, &refused):
			p.Refused++
		case err != nil: // the daemon is gone
			return report.Encode(p)
		default:
			p.IDs += o.ids(reply)
		}
		if !told && p.IDs > 0 {
			told = true
			if err := report.Encode(p); err != nil {
				return err
			}
		}
		if !measuring && p.Took >= o.Warm {
			measuring, begun, p = true, now, pulled{}
		} else if measuring && p.Took >= o.Length {
			return report.Encode(p)
		}
		if _, err := conn.Write(request); err != nil {
			return report.Encode(p)
		}
	}
}

// ids is how many IDs a reply holds: of NEXT the IDs themselves, of RUN the step and then pairs of
// a first ID and how many.
func (o order) ids(reply []int64) (n int64) {
	if !o.Run {
		return int64(len(reply))
	}
	for i := 2; i < len(reply); i += 2 {
		n += reply[i]
	}
	return n
}
