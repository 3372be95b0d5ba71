// Package cluster puts what a coordinator tells operators into tables for people and objects for
// JSON: who is a member, how far each worker ID was granted, and whose an ID was. Everything is
// reckoned from values of package coord and one reading of the clock; nothing here asks anybody.
package cluster

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// Cluster is what all daemons of a cluster agree on.
type Cluster struct {
	UUID       string
	Layout     *generator.Layout
	Datacenter uint64 // 0 if the layout has no such field
	// Workers is how many worker IDs the layout has: 0 to Workers-1.
	Workers int
	// Range are those of them that it assigns.
	Range coord.WorkerRange
	// Floor is the tick that nothing is issued at or below: that of the cluster's making, or the
	// one that all ceilings were raised to last; 0: none.
	Floor generator.Tick
	// ClusterEpoch changes with each raise; empty: there was none.
	ClusterEpoch string
	// Window is how far ahead of its clock a daemon is granted at most, and Longest the longest
	// that it ever was.
	Window, Longest time.Duration
}

// datacenterKey stands between the layout and the datacenter in a cluster's layout record.
const datacenterKey = ";datacenter="

// Of reads what an inspection found. It is an error if the layout is none that this version knows.
func Of(v coord.Inspected) (Cluster, error) {
	text, datacenter := v.Layout, uint64(0)
	if at := strings.LastIndex(v.Layout, datacenterKey); at >= 0 {
		var err error
		text = v.Layout[:at]
		if datacenter, err = strconv.ParseUint(v.Layout[at+len(datacenterKey):], 10, 64); err != nil {
			return Cluster{}, unknownLayout(v, fmt.Errorf("its datacenter is not a number"))
		}
	}
	layout, err := generator.ParseLayout(text)
	if err != nil {
		return Cluster{}, unknownLayout(v, err)
	}
	workers := min(layout.Workers(), coord.MaxWorkers)
	return Cluster{
		UUID:       v.UUID,
		Layout:     layout,
		Datacenter: datacenter,
		Workers:    workers,
		Range:      v.Range.Of(workers),
		Floor:      v.Floor, ClusterEpoch: v.ClusterEpoch,
		Window: windowOf(v.Window, layout), Longest: windowOf(v.Longest, layout),
	}, nil
}

// windowOf is the length of so many ticks.
func windowOf(ticks generator.Tick, layout *generator.Layout) time.Duration {
	return time.Duration(min(ticks, generator.Tick(Widest/layout.TickLength()))) * layout.TickLength()
}

func unknownLayout(v coord.Inspected, err error) error {
	return fmt.Errorf("cluster %s has the layout %q, which is not understood here: %w; use the flakeward of the cluster's daemons", v.UUID, v.Layout, err)
}

// tick is the tick that an instant lies in.
func (c Cluster) tick(now time.Time) generator.Tick { return c.Layout.TickAt(now.UnixNano()) }

// left is how long after now the last instant of tick t is over: 0 or less if
// nothing can be issued at or below t any more. It saturates at 292 years.
func (c Cluster) left(t generator.Tick, now time.Time) time.Duration {
	return c.Layout.StartOf(t + 1).Sub(now)
}

// age is how long ago tick t began; negative if it has not. It saturates as left.
func (c Cluster) age(t generator.Tick, now time.Time) time.Duration {
	return now.Sub(c.Layout.StartOf(t))
}

// Head is what every object begins with.
type Head struct {
	Cluster    string `json:"cluster"`
	Layout     string `json:"layout"` // in its full form
	Datacenter uint64 `json:"datacenter"`
	Workers    int    `json:"workers"` // worker IDs there are
	// Now is this host's clock, which all times are held against.
	Now *string `json:"now"`
	// Raised is what all ceilings were raised to last; null if they never were.
	RaisedTick *generator.Tick `json:"raised_tick"`
	Raised     *string         `json:"raised"`
}

// listing is what each list begins with: a cluster at an instant.
type listing struct {
	Head

	cluster Cluster
	now     time.Time
}

func (c Cluster) listing(now time.Time) listing {
	h := Head{Cluster: c.UUID, Layout: c.Layout.String(), Datacenter: c.Datacenter, Workers: c.Workers, Now: Stamp(now)}
	if c.Floor > 0 {
		h.RaisedTick, h.Raised = &c.Floor, Stamp(c.Layout.StartOf(c.Floor))
	}
	return listing{h, c, now}
}

// table prints the list of n things for people: what is said of all, which may be empty, and a row
// for each.
func (l listing) table(out io.Writer, n int, thing, ofAll, titles string, row func(i int) string) error {
	c := l.cluster
	var b strings.Builder
	fmt.Fprintf(&b, "cluster %s: %s of %d worker IDs, layout %s", c.UUID, count(n, thing), c.Workers, c.Layout)
	if c.Layout.Bits(generator.Datacenter) > 0 {
		fmt.Fprintf(&b, ", datacenter %d", c.Datacenter)
	}
	b.WriteByte('\n')
	if c.Floor > 0 {
		fmt.Fprintf(&b, "no ID is issued for a time before %s, %s\n", Time(c.Layout.StartOf(c.Floor)), ago(c.age(c.Floor, l.now)))
	}
	b.WriteString(ofAll)
	if n > 0 {
		table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "\n"+titles)
		for i := range n {
			fmt.Fprintln(table, row(i))
		}
		_ = table.Flush()
	}
	_, err := io.WriteString(out, b.String())
	return err
}
