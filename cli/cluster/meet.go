package cluster

import (
	"fmt"
	"io"
	"text/tabwriter"

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
	fixed := make([]bits, len(all))
	for i, f := range all {
		var err error
		if fixed[i], err = fixedBits(f.Cluster); err != nil {
			return Comparison{}, fmt.Errorf("cluster %s of coordinator %s: %w", f.UUID, f.Coordinator, err)
		}
		c.Clusters = append(c.Clusters, Compared{f.Coordinator, f.UUID, f.Layout.String(), f.Datacenter, f.Workers})
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

// bits are those that all IDs of a cluster have in common: where mask has a 1, they are as in value.
type bits struct{ mask, value uint64 }

// fixedBits are the datacenter's, and those above the layout's fields. All others take any value in
// the course of time.
func fixedBits(c Cluster) (bits, error) {
	value, err := c.Layout.Compose(generator.Parts{Datacenter: c.Datacenter})
	if err != nil {
		return bits{}, err
	}
	field, err := c.Layout.Compose(generator.Parts{Datacenter: c.Layout.Max(generator.Datacenter)})
	if err != nil {
		return bits{}, err
	}
	width := 0
	for f := generator.Time; f <= generator.Sequence; f++ {
		width += c.Layout.Bits(f)
	}
	return bits{mask: ^uint64(0)<<width | uint64(field), value: uint64(value)}, nil
}

// meeting says whether two clusters can issue the same ID, and why.
func meeting(a, b Cluster, of, other bits) (reason Reason, why string, meet bool) {
	switch both := of.mask & other.mask; {
	case a.UUID == b.UUID:
		return SameCluster, fmt.Sprintf("both have the UUID %s: one cluster by two names, or a copy of one", a.UUID), true
	case of.value&both != other.value&both:
		return "", "", false
	case a.Layout.String() != b.Layout.String():
		return OtherLayout, "the layouts differ, and no bit of a datacenter tells their IDs apart", true
	case a.Layout.Bits(generator.Datacenter) == 0:
		return NoDatacenter, "the layouts have no datacenter field", true
	}
	return SameDatacenter, fmt.Sprintf("both have the datacenter %d", a.Datacenter), true
}

// sortsByTime reports whether time is the layout's highest field.
func sortsByTime(l *generator.Layout) bool {
	_, _, err := l.Bounds(l.StartOf(1), l.StartOf(2))
	return err == nil
}

// Table prints the clusters, and those that meet, for people.
func (c Comparison) Table(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "coordinator\tcluster\tdatacenter\tworkers\tlayout")
	for _, one := range c.Clusters {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\n", Plain(one.Coordinator), short(one.Cluster), one.Datacenter, one.Workers, one.Layout)
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
