package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
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
	socket string
	run    bool // RUN, which answers with runs, rather than NEXT with a count
	count  int  // IDs in a request
	window int  // requests that are under way at a time
	warm   time.Duration
	length time.Duration // measured, after warm
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
	s, err := startSelf(ctx, selfPull, "-socket", o.socket, "-run="+strconv.FormatBool(o.run), "-count", strconv.Itoa(o.count),
		"-window", strconv.Itoa(o.window), "-warm", o.warm.String(), "-length", o.length.String())
	if err != nil {
		return nil, err
	}
	var first pulled
	err = s.hear(&first)
	if err == nil && first.IDs == 0 {
		err = fmt.Errorf("the daemon gave a client nothing in %v, and refused %d requests of %v", first.Took, first.Refused, o)
	}
	if err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// pull is the client: it reports and ends when its time is over or the daemon ends the connection.
func pull(ctx context.Context, args []string, report *json.Encoder) error {
	var o order
	flags := flag.NewFlagSet(selfPull, flag.ContinueOnError)
	flags.StringVar(&o.socket, "socket", "", "")
	flags.BoolVar(&o.run, "run", false, "")
	flags.IntVar(&o.count, "count", 1, "")
	flags.IntVar(&o.window, "window", 1, "")
	flags.DurationVar(&o.warm, "warm", 0, "")
	flags.DurationVar(&o.length, "length", time.Second, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", o.socket)
	if err != nil {
		return fmt.Errorf("no connection to the daemon: %w", err)
	}
	defer conn.Close() //nolint:errcheck // nothing is written that could be lost
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	return o.follow(conn, report)
}

func (o order) follow(conn net.Conn, report *json.Encoder) error {
	word := "NEXT"
	if o.run {
		word = "RUN"
	}
	request := wire.AppendCommand(nil, word, strconv.Itoa(o.count))
	for range o.window {
		if _, err := conn.Write(request); err != nil {
			return err
		}
	}
	in := wire.NewReader(conn)
	var reply []int64
	var p pulled
	var err error
	told, begun, measuring := false, time.Now(), o.warm == 0
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
		if !measuring && p.Took >= o.warm {
			measuring, begun, p = true, now, pulled{}
		} else if measuring && p.Took >= o.length {
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
	if !o.run {
		return int64(len(reply))
	}
	for i := 2; i < len(reply); i += 2 {
		n += reply[i]
	}
	return n
}
