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
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Load is what to ask for, and how fast.
type Load struct {
	Socket      string
	Request     []string      // the words of each request
	Runs        bool          // each reply is a step and then pairs of a first ID and how many, as RUN answers
	Rate        float64       // requests a second, all connections together
	Connections int           // 1 or more
	Fixed       bool          // the same time between any two requests, the connections in turn; see schedule
	Seed        uint64        // of the schedule: the same one lays down the same times
	Warm        time.Duration // sent before Length and not counted
	Length      time.Duration // of the schedule that is counted, above 0
	Phases      []time.Duration
	// Phases splits Length: the ends of all phases but the last one, from the beginning of Length
	// on, rising.

	// Spin is how long before a request's time the generator stops sleeping and polls. Sleeping
	// ends some tens of microseconds late, polling takes the processor that it runs on. Above the
	// time between two requests it always polls.
	Spin time.Duration
	// Begun is told when the schedule begins, Warm included: nanoseconds of CLOCK_MONOTONIC, which
	// all processes of a machine share. It may be nil.
	Begun func(monotonic int64) `json:"-"`
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
	last := time.Duration(0)
	for _, end := range l.Phases {
		if end <= last || end >= l.Length {
			return fmt.Errorf("a phase that ends at %v, after one that ends at %v, of %v: they rise within the length", end, last, l.Length)
		}
		last = end
	}
	return nil
}

// Result is what came of a load. Requests of Warm are in no figure.
type Result struct {
	Sent       int64         // requests whose time was within Length
	Refused    int64         // of these, answered with an error
	Unanswered int64         // of these, without a reply when the generator gave up: Timeout after the last one
	Latency    Spread        // from a request's time to its reply; refused ones are not in it, unanswered ones are, as long as was waited
	Late       Spread        // from a request's time to when it was written
	CPU        float64       // processor time that the generator used, in cores
	Took       time.Duration // from the beginning of Length until the last reply, at least Length
	IDs        int64         // in replies that came within Length, whatever they were sent for
	Phases     []Phase
}

// Phase is what came of a part of the length.
type Phase struct {
	From, To time.Duration // from the beginning of Length on
	IDs      int64         // in replies that came within it
	Latency  Spread        // of requests whose time was within it
}

// Rate is how many IDs a second came within the phase.
func (p Phase) Rate() float64 { return float64(p.IDs) / (p.To - p.From).Seconds() }

// DefaultSpin suits 50,000 requests a second on two processors that are shared with the server:
// half of the requests are then written within 1 us of their time, where they are 16 us late if the
// generator only sleeps, and it leaves the server more of its own processor than polling all the
// time does.
const DefaultSpin = 20 * time.Microsecond

// Timeout is how long the generator waits for the last replies.
const Timeout = 5 * time.Second

// Spread is how a duration was spread. The values are exact to three digits, rounded up.
type Spread struct {
	Count                           int64
	P50, P90, P99, P999, P9999, Max time.Duration
	Curve                           []Point // for plots
}

// Point says that a share of the durations was at most At.
type Point struct {
	Share float64 // 0 to 1
	At    time.Duration
}

func (s Spread) String() string {
	us := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Microsecond)) }
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s, p99.9 %s, p99.99 %s, max %s us (%d)",
		us(s.P50), us(s.P90), us(s.P99), us(s.P999), us(s.P9999), us(s.Max), s.Count)
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

// spread reads off a histogram. Its curve has equal steps on a scale on which each further nine
// takes the same room.
func spread(h *hdrhistogram.Histogram) Spread {
	at := func(percentile float64) time.Duration { return time.Duration(h.ValueAtPercentile(percentile)) }
	s := Spread{
		Count: h.TotalCount(), P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), P9999: at(99.99), Max: time.Duration(h.Max()),
	}
	if s.Count == 0 {
		return Spread{}
	}
	const stepsPerNine = 10
	for i := 0; ; i++ {
		share := 1 - math.Pow(10, -float64(i)/stepsPerNine)
		if (1-share)*float64(s.Count) < 1-1e-6 { // the last ones would be the same value again
			return s
		}
		s.Curve = append(s.Curve, Point{share, at(share * 100)})
	}
}
