package cluster

import (
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flakeward/flakeward/coord"
)

// Supply is how many worker IDs there are to be had, and who would wait if all hosts lost power
// now.
type Supply struct {
	Held    int `json:"held"`    // by a live claim
	Resting int `json:"resting"` // without one, and the clock has not passed the ceiling
	Damaged int `json:"damaged"` // their records cannot be read, so they are not assigned
	Free    int `json:"free"`

	// Waiting is how many of the daemons that hold a worker ID would find none free if all of them
	// crashed at once and came back, and Longest how long the last of them would wait.
	Waiting int     `json:"waiting_after_a_power_cut"`
	Longest float64 `json:"longest_wait_seconds"`

	longest time.Duration
}

// supplyOf counts the worker IDs that the cluster assigns. A crash leaves each that is held resting
// up to its ceiling, so whoever finds none free takes the one that rests for the shortest time.
func (c Cluster) supplyOf(now time.Time, marks []coord.Mark) Supply {
	var s Supply
	var rest []time.Duration // of all that are held or rest
	for _, m := range marks {
		if !c.Range.Has(m.Worker) {
			continue
		}
		left := max(0, c.left(m.Ceiling, now))
		switch {
		case m.Damaged:
			s.Damaged++
			continue
		case m.Claim != "":
			s.Held++
		case left > 0:
			s.Resting++
		default:
			continue
		}
		rest = append(rest, left)
	}
	s.Free = c.Range.Count - s.Held - s.Resting - s.Damaged
	if s.Waiting = max(0, s.Held-s.Free); s.Waiting > 0 {
		slices.Sort(rest)
		s.longest = rest[s.Waiting-1]
		s.Longest = seconds(s.longest)
	}
	return s
}

// String is the supply in a sentence, for people.
func (s Supply) String() string {
	text := fmt.Sprintf("%d held, %d resting, %d free", s.Held, s.Resting, s.Free)
	if s.Damaged > 0 {
		text += fmt.Sprintf(", %d damaged", s.Damaged)
	}
	if s.Waiting == 0 {
		return text + "; if all hosts lost power now, nobody would wait"
	}
	return text + fmt.Sprintf("; if all hosts lost power now, %d of %d daemons would wait, the last for %s", s.Waiting, s.Held, Span(s.longest))
}

// Textfile writes the supply as gauges of Prometheus, for the textfile collector of node_exporter:
// whoever reads the file finds the old one or the new one whole.
func (m Marks) Textfile(path string) error {
	of := prometheus.Labels{"cluster_id": m.cluster.UUID}
	ids := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flakeward_cluster_worker_ids", Help: "Worker IDs of the cluster's range, by state.", ConstLabels: of,
	}, []string{"state"})
	waiting := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flakeward_cluster_waiting_after_power_cut", Help: "Daemons that would wait if all hosts lost power now.", ConstLabels: of,
	})
	longest := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "flakeward_cluster_longest_wait_seconds", Help: "How long the last of them would wait.", ConstLabels: of,
	})
	s := m.Supply
	for state, count := range map[string]int{"held": s.Held, "resting": s.Resting, "free": s.Free, "damaged": s.Damaged} {
		ids.WithLabelValues(state).Set(float64(count))
	}
	waiting.Set(float64(s.Waiting))
	longest.Set(s.Longest)
	registry := prometheus.NewRegistry()
	registry.MustRegister(ids, waiting, longest)
	return prometheus.WriteToTextfile(path, registry)
}
