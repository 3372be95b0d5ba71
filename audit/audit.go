// Package audit judges everything that a cluster of daemons handed out, by seven
// invariants, exactly and over every ID: those in replies that got lost count as
// issued, for the daemons' own logs have them.
//
// The logs are those of package evidence, written by package record around a daemon and
// by the drills' client; package history reads the coordinator's store. Package received
// judges where no daemon wrote a log.
//
// It reads the evidence as streams, a few times over, and works on rows of IDs within one tick.
package audit

import (
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/generator"
)

// Cluster is all that there is to judge.
type Cluster struct {
	Layout  *generator.Layout
	Hosts   []Host
	History []history.Version
	// Floor is the tick that the cluster was made with: each opening is granted what is above it.
	// Of trees that were wiped it is that of the first.
	Floor generator.Tick
	// Raises are all raises of that floor, in the order in which they were made.
	Raises []Raise
	// Past is the histories of trees that were wiped while the cluster ran, oldest first. What was
	// acknowledged in one of them counts in it alone.
	Past [][]history.Version
	// Unordered leaves out the invariants of order, Rising and Skewed. Their findings say so.
	Unordered bool
	// Lead, if it is above 0, is how far ahead of the true time an ID may be when its daemon
	// records it. Wall is what a right clock shows when the times in the evidence are 0, in
	// nanoseconds since 1970.
	Lead time.Duration
	Wall int64

	// Linear has the calls on the coordinator judged too, each worker ID's: Linear.
	Linear bool

	asIs bool // times are told as they are in the evidence
}

// Raise says that an operator has raised the cluster's floor. Who opens a record from then on
// begins above it. Who learns of it issues nothing above it from what was opened before: its lanes
// are cut.
type Raise struct {
	Tree  int           // in which it was made: an index of Past, or their number for the one of History
	Last  int           // the last tree that has it: those from Tree on were put back from copies that had it
	Order int64         // it was made after the version of that order, and before the next
	At    evidence.Mono // it was made by then
	Floor generator.Tick
}

// Host is one host's evidence.
type Host struct {
	Name    string
	Daemons []string // files of evidence.Event, one for each start of a daemon, in any order
	Clients []string // files of evidence.Reply
	Steps   []Step   // of the host's clock, in order
}

// Step is a change of a clock's offset from the machine's own.
type Step struct {
	At     evidence.Mono
	Set    evidence.Mono // the clock had that offset by then, for whoever looked; 0: at once
	Offset int64         // nanoseconds, from then on; before the first step it is 0
}

// stream hands out the entries of one log, in their order and the same ones whenever it is called.
// It ends with the first error of yield.
type stream[T any] func(yield func(T) error) error

// log is a stream with the name that errors and examples give it.
type log[T any] struct {
	name string
	read stream[T]
}

// site is a Host whose logs can be read.
type site struct {
	name    string
	daemons []log[evidence.Event]
	clients []log[evidence.Reply]
	steps   []Step
}

// Judge judges a cluster after all its daemons and clients have ended. It returns an error, and no
// verdict, if the evidence is not there, cannot be read or contradicts itself.
func Judge(c Cluster) (Verdict, error) {
	sites := make([]site, len(c.Hosts))
	for i, h := range c.Hosts {
		s := site{name: h.Name, steps: h.Steps}
		for _, path := range h.Daemons {
			s.daemons = append(s.daemons, log[evidence.Event]{path, func(yield func(evidence.Event) error) error {
				return evidence.ReadEvents(path, yield)
			}})
		}
		for _, path := range h.Clients {
			s.clients = append(s.clients, log[evidence.Reply]{path, func(yield func(evidence.Reply) error) error {
				return evidence.ReadReplies(path, yield)
			}})
		}
		sites[i] = s
	}
	return judge(c, sites)
}

// judge is Judge on streams.
func judge(c Cluster, sites []site) (Verdict, error) {
	if c.Layout == nil {
		return Verdict{}, errors.New("audit: no layout is given")
	}
	s, err := shapeOf(c.Layout)
	if err != nil {
		return Verdict{}, fmt.Errorf("audit: %w", err)
	}
	if err := present(sites); err != nil {
		return Verdict{}, err
	}
	for _, r := range c.Raises {
		if r.Tree < 0 || r.Last < r.Tree || r.Last > len(c.Past) {
			return Verdict{}, fmt.Errorf("audit: a raise is of the trees %d to %d, and there are %d", r.Tree, r.Last, len(c.Past)+1)
		}
	}
	known, err := readHistory(append(append([][]history.Version{}, c.Past...), c.History), c.Floor, c.Raises)
	if err != nil {
		return Verdict{}, err
	}
	starts, err := findStarts(c.Layout, sites)
	if err != nil {
		return Verdict{}, err
	}
	j := &court{shape: s, sites: sites, starts: starts, base: starts[0].began, lead: c.Lead, wall: c.Wall, verdict: newVerdict(sites, c), excuses: excuses{}}
	for _, l := range starts {
		j.base = min(j.base, l.began)
	}
	if c.asIs {
		j.base = 0
	}
	clocks, err := j.grants(known)
	if err != nil {
		return Verdict{}, err
	}
	if err := j.replies(clocks, c.Unordered); err != nil {
		return Verdict{}, err
	}
	if err := j.unique(); err != nil {
		return Verdict{}, err
	}
	if err := j.linear(c); err != nil {
		return Verdict{}, err
	}
	if j.verdict.Issued == 0 && j.verdict.Received == 0 {
		return Verdict{}, errors.New("audit: no ID was issued: there is nothing to judge")
	}
	return j.verdict, nil
}

// present is an error if a host is named twice or has no log at all of one kind.
func present(sites []site) error {
	if len(sites) == 0 {
		return errors.New("audit: no host is given")
	}
	names := map[string]bool{}
	files := map[string]bool{}
	for _, s := range sites {
		switch {
		case names[s.name]:
			return fmt.Errorf("audit: host %q is given twice", s.name)
		case len(s.daemons) == 0:
			return fmt.Errorf("audit: host %s has no log of a daemon", s.name)
		case len(s.clients) == 0:
			return fmt.Errorf("audit: host %s has no log of a client", s.name)
		}
		names[s.name] = true
		paths := []string{}
		for _, d := range s.daemons {
			paths = append(paths, d.name)
		}
		for _, c := range s.clients {
			paths = append(paths, c.name)
		}
		for _, p := range paths {
			if files[p] {
				return fmt.Errorf("audit: %s is given twice", p)
			}
			files[p] = true
		}
		for i := 1; i < len(s.steps); i++ {
			if s.steps[i].At < s.steps[i-1].At {
				return fmt.Errorf("audit: the clock steps of host %s are not in order", s.name)
			}
		}
	}
	return nil
}

// court is a judgement under way.
type court struct {
	*shape
	sites   []site
	starts  []start
	base    evidence.Mono // the first start of a daemon, unless times are told as they are: they are told from it
	lead    time.Duration // how far IDs may be ahead of the true time; 0: that is not judged
	wall    int64         // the true time when that in the evidence is 0
	verdict Verdict
	excuses excuses
}

// when describes a time to a reader.
func (j *court) when(at evidence.Mono) string {
	return fmt.Sprintf("%.6f s", float64(at-j.base)/1e9)
}

// timely judges IDs that were recorded at an instant, which is after they were issued.
func (j *court) timely(at evidence.Mono, l *start, r row) {
	if j.lead <= 0 {
		return
	}
	if ahead := time.Duration(j.layout.UnixNanos(j.tickOf(r.from)) - j.wall - int64(at)); ahead > j.lead {
		j.verdict.against(Timely, Ahead, uint64(r.n), func() string {
			return fmt.Sprintf("%s, %d in a row, was issued by %s at %s: it is %v ahead of that time, and may be %v", j.describe(r.from), r.n,
				j.startName(l), j.when(at), ahead, j.lead)
		})
	}
}
