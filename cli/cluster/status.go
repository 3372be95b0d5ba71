package cluster

import (
	"fmt"
	"io"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// Status is a cluster's members at an instant.
type Status struct {
	listing
	Members []Member `json:"members"` // in the order of their worker IDs
}

// clocksApart is how far a daemon's clock and this one may lie apart.
const clocksApart = 10 * time.Second

// The states of a member.
const (
	Granted = "granted" // its ceiling is ahead of the clock
	Stopped = "stopped" // the clock has passed its ceiling
	Ahead   = "ahead"   // its ceiling is further ahead of the clock than any daemon of the cluster asks for: one of the two clocks is, or was, wrong
	Waiting = "waiting" // the clock has not passed the cluster's floor, and it issues above that
	Opening = "opening" // it has claimed a worker ID and not opened its record yet
)

// Member is one daemon. What is not known is null; ticks are 0 then.
type Member struct {
	Worker      int    `json:"worker"`
	Host        string `json:"host"`
	PID         int    `json:"pid"`
	Incarnation string `json:"incarnation"`
	Version     string `json:"version"`
	Claim       string `json:"claim"`
	Opening     string `json:"opening"`
	State       string `json:"state"`

	Since *string  `json:"since"` // by its host's clock
	Age   *float64 `json:"age_seconds"`

	CeilingTick generator.Tick `json:"ceiling_tick"`
	Ceiling     *string        `json:"ceiling"`
	// Left is how long it may issue without another grant; negative: since when not.
	Left *float64 `json:"ceiling_left_seconds"`

	IssuedTick generator.Tick `json:"issued_tick"`
	Issued     *string        `json:"issued"`
	IssuedAge  *float64       `json:"issued_age_seconds"`

	// WaitsUntil is when it may issue, WaitsFor from now, if it is waiting.
	WaitsUntil *string `json:"waits_until,omitzero"`
	WaitsFor   float64 `json:"waits_for_seconds,omitzero"`

	words words
}

// words are a member's times in the table.
type words struct{ claimed, ceiling, issued, wait string }

// StatusOf reckons up members against the clock.
func StatusOf(c Cluster, now time.Time, members []coord.Member) Status {
	s := Status{c.listing(now), make([]Member, 0, len(members))}
	for _, m := range members {
		s.Members = append(s.Members, c.member(now, m))
	}
	return s
}

func (c Cluster) member(now time.Time, m coord.Member) Member {
	out := Member{
		Worker: m.Worker, Host: m.Host, PID: m.PID, Incarnation: m.Incarnation, Version: m.Version,
		Claim: m.Claim, Opening: m.Opening, State: Granted,
		CeilingTick: m.Ceiling, IssuedTick: m.Issued,
		words: words{claimed: "-", ceiling: "-", issued: "-"},
	}
	switch {
	case m.Opening == "":
		out.State = Opening
	case c.tick(now) > m.Ceiling:
		out.State = Stopped
	case c.waits(now, m):
		left := c.left(c.Floor, now)
		out.State, out.WaitsUntil, out.WaitsFor = Waiting, c.stamp(c.Floor+1), seconds(left)
		out.words.wait = fmt.Sprintf("the cluster's floor is ahead: it issues from %s on, %s from now", Time(c.Layout.StartOf(c.Floor+1)), Span(left))
	case c.Window > 0 && c.left(m.Ceiling, now) > c.Window+clocksApart:
		out.State = Ahead
	}
	if !m.Since.IsZero() {
		age := now.Sub(m.Since)
		out.Since, out.Age = Stamp(m.Since), new(seconds(age))
		out.words.claimed = ago(age)
	}
	if m.Ceiling > 0 {
		left := c.left(m.Ceiling, now)
		out.Ceiling, out.Left = c.stamp(m.Ceiling), new(seconds(left))
		out.words.ceiling = Signed(left)
	}
	if m.Issued > 0 {
		age := c.age(m.Issued, now)
		out.Issued, out.IssuedAge = c.stamp(m.Issued), new(seconds(age))
		out.words.issued = ago(age)
	}
	return out
}

// waits reports whether the member issues only above the cluster's floor, which the clock has not
// passed. One that has not claimed since a raise may still issue up to there, by its grant of
// before.
func (c Cluster) waits(now time.Time, m coord.Member) bool {
	return c.Floor > 0 && c.tick(now) <= c.Floor && coord.ClusterEpochOf(m.Opening) == c.ClusterEpoch
}

func (c Cluster) stamp(t generator.Tick) *string { return Stamp(c.Layout.StartOf(t)) }

// Table prints the members for people.
func (s Status) Table(out io.Writer) error {
	err := s.table(out, len(s.Members), "member", "", "worker\thost\tincarnation\tclaimed\tceiling\tissued\tversion\tstate", func(i int) string {
		m := s.Members[i]
		return fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s",
			m.Worker, Plain(m.Host), short(m.Incarnation), m.words.claimed, m.words.ceiling, m.words.issued, Plain(m.Version), m.State)
	})
	if err != nil {
		return err
	}
	for _, m := range s.Members {
		if m.words.wait == "" {
			continue
		}
		if _, err := fmt.Fprintf(out, "worker ID %d, %s: %s\n", m.Worker, Plain(m.Host), m.words.wait); err != nil {
			return err
		}
	}
	return nil
}
