package cluster

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// Found is a cluster and the coordinator that told it, by its URL without secrets.
type Found struct {
	Coordinator string
	Cluster
}

// Comparison says which clusters can issue the same ID.
type Comparison struct {
	Clusters []Compared `json:"clusters"`
	// Meet are the pairs that can, in the order of the clusters.
	Meet []Meeting `json:"meet"`
	// Sorted reports whether IDs of all clusters sort by time together.
	Sorted bool `json:"sorted_by_time"`
}

// Compared is one of the clusters.
type Compared struct {
	Coordinator string `json:"coordinator"`
	Cluster     string `json:"cluster"`
	Layout      string `json:"layout"`
	Datacenter  uint64 `json:"datacenter"`
	Workers     int    `json:"workers"`
	// WorkerRange are the worker IDs that it assigns, LOW-HIGH; "all" if it assigns those of the layout.
	WorkerRange string `json:"worker_range"`
}

// Meeting is two clusters that can issue the same ID.
type Meeting struct {
	Coordinators [2]string `json:"coordinators"`
	Reason       Reason    `json:"reason"`
	Why          string    `json:"why"`
}

// Reason is why two clusters meet.
type Reason string

// The reasons there are.
const (
	SameCluster    Reason = "same-cluster"
	SameDatacenter Reason = "same-datacenter"
	NoDatacenter   Reason = "no-datacenter"
	OtherLayout    Reason = "other-layout"
)

// Compare compares each two of the clusters. An error names a cluster whose datacenter is none of its
// layout.
func Compare(all []Found) (Comparison, error) {
	c := Comparison{Meet: []Meeting{}, Sorted: true}
	fixed := make([][]bits, len(all))
	for i, f := range all {
		var err error
		if fixed[i], err = fixedBits(f.Cluster); err != nil {
			return Comparison{}, fmt.Errorf("cluster %s of coordinator %s: %w", f.UUID, f.Coordinator, err)
		}
		c.Clusters = append(c.Clusters, Compared{f.Coordinator, f.UUID, f.Layout.String(), f.Datacenter, f.Workers, f.ranged()})
		c.Sorted = c.Sorted && sortsByTime(f.Layout) && f.Layout.String() == all[0].Layout.String()
	}
	for i, a := range all {
		for j, b := range all[:i] {
			if reason, why, meet := meeting(b.Cluster, a.Cluster, fixed[j], fixed[i]); meet {
				c.Meet = append(c.Meet, Meeting{[2]string{b.Coordinator, a.Coordinator}, reason, why})
			}
		}
	}
	return c, nil
}

// bits are those that some IDs have in common: where mask has a 1, they are as in value.
type bits struct{ mask, value uint64 }

// fixedBits are those of all IDs of a cluster: the datacenter's, those above the layout's fields, and
// those of the worker IDs that the cluster assigns, of which each aligned block has its own. All others
// take any value in the course of time.
func fixedBits(c Cluster) (blocks []bits, err error) {
	width := 0
	for f := generator.Time; f <= generator.Sequence; f++ {
		width += c.Layout.Bits(f)
	}
	datacenter, err := c.Layout.Compose(generator.Parts{Datacenter: c.Layout.Max(generator.Datacenter)})
	if err != nil {
		return nil, err
	}
	for first, last := c.Range.First, c.Range.Last(); first <= last; {
		size := 1
		for first%(2*size) == 0 && first+2*size-1 <= last {
			size *= 2
		}
		value, err := c.Layout.Compose(generator.Parts{Datacenter: c.Datacenter, Worker: uint64(first)})
		if err != nil {
			return nil, err
		}
		worker, err := c.Layout.Compose(generator.Parts{Worker: c.Layout.Max(generator.Worker) &^ uint64(size-1)})
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, bits{mask: ^uint64(0)<<width | uint64(datacenter) | uint64(worker), value: uint64(value)})
		first += size
	}
	return blocks, nil
}

// equal reports whether some ID is of both.
func equal(a, b []bits) bool {
	for _, of := range a {
		for _, other := range b {
			if both := of.mask & other.mask; of.value&both == other.value&both {
				return true
			}
		}
	}
	return false
}

// meeting says whether two clusters can issue the same ID, and why.
func meeting(a, b Cluster, of, other []bits) (reason Reason, why string, meet bool) {
	switch {
	case a.UUID == b.UUID:
		return SameCluster, fmt.Sprintf("both have the UUID %s: one cluster by two names, or a copy of one", a.UUID), true
	case !equal(of, other):
		return "", "", false
	case a.Layout.String() != b.Layout.String():
		return OtherLayout, "the layouts differ, and no bit of a datacenter or a worker range tells their IDs apart", true
	}
	reason, why = SameDatacenter, fmt.Sprintf("both have the datacenter %d", a.Datacenter)
	if a.Layout.Bits(generator.Datacenter) == 0 {
		reason, why = NoDatacenter, "the layouts have no datacenter field"
	}
	if first, last := max(a.Range.First, b.Range.First), min(a.Range.Last(), b.Range.Last()); last-first+1 < a.Workers {
		why += fmt.Sprintf(", and both assign the worker IDs %d-%d", first, last)
	}
	return reason, why, true
}

// ranged is the cluster's range as in its settings, or "all".
func (c Cluster) ranged() string {
	if c.Range.Count == c.Workers {
		return coord.WorkerRange{}.String()
	}
	return c.Range.String()
}

// sortsByTime reports whether time is the layout's highest field.
func sortsByTime(l *generator.Layout) bool {
	_, _, err := l.Bounds(l.StartOf(1), l.StartOf(2))
	return err == nil
}

// Table prints the clusters, and those that meet, for people.
func (c Comparison) Table(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "coordinator\tcluster\tdatacenter\tworkers\trange\tlayout")
	for _, one := range c.Clusters {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s\n", Plain(one.Coordinator), short(one.Cluster), one.Datacenter, one.Workers, one.WorkerRange, one.Layout)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	text := "\n"
	for _, m := range c.Meet {
		text += fmt.Sprintf("%s and %s can issue the same ID: %s\n", Plain(m.Coordinators[0]), Plain(m.Coordinators[1]), m.Why)
	}
	if len(c.Meet) == 0 {
		text += "no two clusters can issue the same ID\n"
	}
	if !c.Sorted {
		text += "IDs of all of them together do not sort by time: they have different layouts or epochs, or time is not the first field\n"
	}
	_, err := io.WriteString(out, text)
	return err
}
