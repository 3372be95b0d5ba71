// Package clocks has the clocks of a simulated host: a wall clock and a monotonic one, each with a
// rate of its own, which step, freeze and drift apart from the true time and from each other.
package clocks

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/sim/scheduler"
)

// Pair is the clocks of one host.
type Pair struct {
	since scheduler.Time // when the readings below were taken
	wall  hand
	mono  hand
	boot  hand // CLOCK_BOOTTIME, which goes on while the machine is suspended
}

// hand is one clock: what it showed, and how it goes on.
type hand struct {
	at     int64
	ppm    int64 // too fast by so much; above -1,000,000
	frozen bool
}

// New returns clocks that show wall and 0 at time 0.
func New(wall int64) *Pair { return &Pair{wall: hand{at: wall}} }

func (h hand) after(d int64) int64 {
	if h.frozen {
		return h.at
	}
	if h.ppm == 0 {
		return h.at + d
	}
	// In parts, so that hours times the rate stay within 64 bits.
	return h.at + d + d/1e6*h.ppm + d%1e6*h.ppm/1e6
}

// Read is what the clocks show at a time, which is never before that of an earlier call.
func (p *Pair) Read(now scheduler.Time) clockguard.Reading {
	d := int64(now - p.since)
	return clockguard.Reading{Wall: p.wall.after(d), Mono: clockguard.Mono(p.mono.after(d))}
}

// Boot is what the clock shows that goes on while the machine is suspended.
func (p *Pair) Boot(now scheduler.Time) int64 { return p.boot.after(int64(now - p.since)) }

// set goes on from now in another way.
func (p *Pair) set(now scheduler.Time) {
	r, boot := p.Read(now), p.Boot(now)
	p.since, p.wall.at, p.mono.at, p.boot.at = now, r.Wall, int64(r.Mono), boot
}

// Step moves the wall clock.
func (p *Pair) Step(now scheduler.Time, by time.Duration) {
	p.set(now)
	p.wall.at += int64(by)
}

// Drift sets by how many millionths either clock is fast.
func (p *Pair) Drift(now scheduler.Time, wall, mono int64) {
	p.set(now)
	p.wall.ppm, p.mono.ppm, p.boot.ppm = wall, mono, mono
}

// FreezeWall stops the wall clock, or lets it go on from where it stands.
func (p *Pair) FreezeWall(now scheduler.Time, frozen bool) {
	p.set(now)
	p.wall.frozen = frozen
}

// FreezeBoot stops the clock that a suspended machine does not, or lets it go on from where it
// stands.
func (p *Pair) FreezeBoot(now scheduler.Time, frozen bool) {
	p.set(now)
	p.boot.frozen = frozen
}

// FreezeMono stops the monotonic clock, or lets it go on from where it stands.
func (p *Pair) FreezeMono(now scheduler.Time, frozen bool) {
	p.set(now)
	p.mono.frozen = frozen
}

// Until is how long it truly takes until the monotonic clock has moved on by d, if it goes on as it
// does. It is never too long by more than a microsecond, and whoever wakes then looks again.
func (p *Pair) Until(d clockguard.Mono) scheduler.Time {
	if p.mono.ppm == 0 {
		return scheduler.Time(d)
	}
	return scheduler.Time(float64(d)/(1+float64(p.mono.ppm)/1e6)) + 1
}
