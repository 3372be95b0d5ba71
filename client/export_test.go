package client

import (
	"context"
	"net"
	"time"
)

// Through has the client dial with f, and tell ages by the clock alone.
func Through(f func(context.Context) (net.Conn, error)) Option {
	return func(o *options) { o.dial, o.cycles = f, false }
}

// Delay is delay.
func Delay(failures int, random float64) time.Duration { return delay(failures, random) }

// Size is what a client asks for that has handed out used IDs in elapsed, and Lead how many of n are left when it asks for more, if
// requests take trip.
func Size(used int64, elapsed, maxAge time.Duration, most int64) int64 {
	now := time.Now()
	d := demand{handed: 7, asked: now}
	return d.size(7+used, now.Add(elapsed), maxAge, most)
}

// Lead is how many of n IDs are left when more are asked for, at that use, if requests take trip.
func Lead(used int64, elapsed, trip time.Duration, n int64) int64 {
	now := time.Now()
	d := demand{asked: now}
	d.sent(used, now.Add(elapsed))
	d.answered(trip)
	return d.lead(n)
}
