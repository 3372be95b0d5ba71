package cluster

import (
	"fmt"
	"io"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// Marks is the records of all worker IDs that were ever held, at an instant.
type Marks struct {
	listing
	Supply Supply `json:"supply"`
	Marks  []Mark `json:"marks"` // in the order of their worker IDs
}

// Mark is a worker ID's record. What is not known is null; ticks are 0 then.
type Mark struct {
	Worker int `json:"worker"`
	// Damaged: the record cannot be read, and its worker ID is not assigned.
	Damaged bool `json:"damaged"`

	CeilingTick generator.Tick `json:"ceiling_tick"`
	Ceiling     *string        `json:"ceiling"`
	// Left is how long the next holder would have to wait; negative: not at all.
	Left *float64 `json:"ceiling_left_seconds"`

	IssuedTick generator.Tick `json:"issued_tick"`
	Issued     *string        `json:"issued"`

	Holder string `json:"holder"` // the ID of the last opening
	Claim  string `json:"claim"`  // of the live claim; empty: the worker ID is free
	Host   string `json:"host"`   // the live claim's; empty if free or unknown
}

// MarksOf reckons records up against the clock. members tells whose claims they
// are; one that came or went between the two questions is shown without its host.
func MarksOf(c Cluster, now time.Time, marks []coord.Mark, members []coord.Member) Marks {
	hosts := make(map[string]string, len(members))
	for _, m := range members {
		hosts[m.Claim] = m.Host
	}
	all := Marks{c.listing(now), c.supplyOf(now, marks), make([]Mark, 0, len(marks))}
	for _, m := range marks {
		out := Mark{
			Worker: m.Worker, Damaged: m.Damaged, CeilingTick: m.Ceiling, IssuedTick: m.Issued,
			Holder: m.Holder, Claim: m.Claim,
		}
		if m.Claim != "" {
			out.Host = hosts[m.Claim]
		}
		if m.Ceiling > 0 {
			out.Ceiling, out.Left = c.stamp(m.Ceiling), new(seconds(c.left(m.Ceiling, now)))
		}
		if m.Issued > 0 {
			out.Issued = c.stamp(m.Issued)
		}
		all.Marks = append(all.Marks, out)
	}
	return all
}

// Table prints the records for people.
func (m Marks) Table(out io.Writer) error {
	c, ofAll := m.cluster, "worker IDs: "+m.Supply.String()+"\n"
	return m.table(out, len(m.Marks), "record", ofAll, "worker\tceiling\t\tissued\theld by", func(i int) string {
		k := m.Marks[i]
		ceiling, left, issued := "-", "-", "-"
		if k.CeilingTick > 0 {
			ceiling, left = Time(c.Layout.StartOf(k.CeilingTick)), Signed(c.left(k.CeilingTick, m.now))
		}
		if k.IssuedTick > 0 {
			issued = ago(c.age(k.IssuedTick, m.now))
		}
		return fmt.Sprintf("%d\t%s\t%s\t%s\t%s", k.Worker, ceiling, left, issued, k.heldBy())
	})
}

func (m Mark) heldBy() string {
	holder := "free"
	if m.Claim != "" {
		holder = Plain(m.Claim)
		if m.Host != "" {
			holder = Plain(m.Host) + ", " + holder
		}
	}
	if m.Damaged {
		holder += "; the record is damaged: it is not assigned"
	}
	return holder
}

// Claims is the live claims at an instant.
type Claims struct {
	listing
	Claims []Member `json:"claims"` // in the order of their worker IDs
}

// ClaimsOf lists claims with all that Status tells of a member.
func ClaimsOf(c Cluster, now time.Time, members []coord.Member) Claims {
	s := StatusOf(c, now, members)
	return Claims{s.listing, s.Members}
}

// Table prints the claims for people.
func (l Claims) Table(out io.Writer) error {
	return l.table(out, len(l.Claims), "claim", "", "worker\thost\tprocess\tclaimed\tissued\tstate\tclaim", func(i int) string {
		m := l.Claims[i]
		return fmt.Sprintf("%d\t%s\t%d\t%s\t%s\t%s\t%s", m.Worker, Plain(m.Host), m.PID, m.words.claimed, m.words.issued, m.State, Plain(m.Claim))
	})
}

// Claimant says whose a claim is, for people.
func Claimant(c Cluster, now time.Time, m coord.Member) string {
	known := c.member(now, m)
	text := fmt.Sprintf("worker ID %d, host %s, process %d, incarnation %s", m.Worker, Plain(m.Host), m.PID, Plain(m.Incarnation))
	if known.Since != nil {
		text += ", claimed " + known.words.claimed
	}
	if known.Issued != nil {
		text += ", its last ID " + known.words.issued
	}
	return text
}
