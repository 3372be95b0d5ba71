// Package pace puts an open-loop load on a server that speaks RESP over a Unix socket, and measures
// how long each request took.
//
// Open loop: every request has a time at which it is to be sent, laid down before anything is sent.
// No reply is waited for: while the server is slow, requests go out as they would have, several on
// one connection if need be, and what it took counts from the time that was laid down. A load
// generator that sends a connection's next request when the last one is answered asks less of a
// server that stalls, and so hides the stall (coordinated omission).
//
// The generator shares the machine with the server, so it is measured too: Result.Late says how
// long after its time each request was written. What is late here is part of the latency, and is
// not the server's fault.
package pace

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Load is what to ask for, and how fast.
type Load struct {
	Socket      string
	Request     []string      // the words of each request; a reply is one line, an integer or an error
	Rate        float64       // requests a second, all connections together
	Connections int           // 1 or more
	Seed        uint64        // of the schedule: the same one lays down the same times
	Warm        time.Duration // sent before Length and not counted
	Length      time.Duration // of the schedule that is counted, above 0

	// Spin is how long before a request's time the generator stops sleeping and polls. Sleeping
	// ends some tens of microseconds late, polling takes the processor that it runs on. Above the
	// time between two requests it always polls.
	Spin time.Duration
}

// Check says what is wrong with the load; nil if it can be run.
func (l Load) Check() error {
	switch {
	case l.Socket == "" || len(l.Request) == 0:
		return errors.New("a load needs a socket and a request")
	case !(l.Rate > 0 && l.Rate <= 1e7):
		return fmt.Errorf("a rate of %v requests a second: give one above 0 and at most 10,000,000", l.Rate)
	case l.Connections < 1:
		return fmt.Errorf("%d connections: give 1 or more", l.Connections)
	case l.Length <= 0 || l.Warm < 0 || l.Spin < 0 || l.Warm+l.Length > time.Hour:
		return fmt.Errorf("a length of %v after %v, polled for %v: give times of at most an hour, and a length above 0", l.Length, l.Warm, l.Spin)
	}
	return nil
}

// Result is what came of a load. Requests of Warm are in no figure.
type Result struct {
	Sent       int64  // requests whose time was within Length
	Refused    int64  // of these, answered with an error
	Unanswered int64  // of these, without a reply when the generator gave up: Timeout after the last one
	Latency    Spread // from a request's time to its reply; refused ones are not in it, unanswered ones are, as long as was waited
	Late       Spread // from a request's time to when it was written
}

// DefaultSpin suits 50,000 requests a second on two processors that are shared with the server:
// half of the requests are then written within 1 us of their time, where they are 16 us late if the
// generator only sleeps, and it leaves the server more of its own processor than polling all the
// time does.
const DefaultSpin = 20 * time.Microsecond

// Timeout is how long the generator waits for the last replies.
const Timeout = 5 * time.Second

// Spread is how a duration was spread. The values are exact to three digits, rounded up.
type Spread struct {
	Count                      int64
	P50, P99, P999, P9999, Max time.Duration
}

// longest is above any latency that is measured: no wait is longer than a load and its Timeout
// together.
const longest = int64(2 * time.Hour)

// newHistogram counts nanoseconds to three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest, 3) }

// record notes a duration in nanoseconds. One below 0 is one of 0: two readings of a clock in the
// wrong order.
func record(h *hdrhistogram.Histogram, ns int64) {
	_ = h.RecordValue(min(max(ns, 0), longest)) // the only error: out of the range
}

// spread reads off a histogram.
func spread(h *hdrhistogram.Histogram) Spread {
	at := func(percentile float64) time.Duration { return time.Duration(h.ValueAtPercentile(percentile)) }
	return Spread{
		Count: h.TotalCount(), P50: at(50), P99: at(99), P999: at(99.9), P9999: at(99.99), Max: time.Duration(h.Max()),
	}
}

// replies finds the ends of replies in a stream that comes in pieces. It keeps no reply.
type replies struct {
	within  bool // a line has begun
	refused bool // and is an error
}

var errNotRESP = errors.New("the server's reply is no integer and no error of RESP")

// next reads from the front of b to the end of a reply, and returns what follows it. If ok is false,
// all of b was read and the reply is not whole yet.
func (r *replies) next(b []byte) (rest []byte, ok bool, err error) {
	if len(b) == 0 {
		return nil, false, nil
	}
	if !r.within {
		if b[0] != ':' && b[0] != '-' {
			return nil, false, fmt.Errorf("%w: %.80q", errNotRESP, b)
		}
		r.within, r.refused = true, b[0] == '-'
	}
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		return nil, false, nil
	}
	r.within = false
	return b[end+1:], true, nil
}
