package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
)

type journalMetrics struct {
	flushes prometheus.Histogram
	failed  prometheus.Counter
}

const (
	flushName  = "journal_flush_duration_seconds"
	flushHelp  = "How long flushes of the journal took."
	failedName = "journal_flush_failures_total"
	failedHelp = "Writes of the journal that failed."
)

// finer is by how much a native bucket is wider than the one below.
const finer = 1.2

func newJournalMetrics() journalMetrics {
	return journalMetrics{
		flushes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + flushName, Help: flushHelp,
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}, NativeHistogramBucketFactor: finer,
		}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + failedName, Help: failedHelp,
		}),
	}
}

// Journal returns a journal that does what j does, and is timed.
func (m *Metrics) Journal(j grant.Journal) grant.Journal { return timedJournal{j, m} }

type timedJournal struct {
	grant.Journal
	metrics *Metrics
}

// Write implements grant.Journal.
func (j timedJournal) Write(c journal.Contents) error {
	begun := j.metrics.clock.Now().Mono
	err := j.Journal.Write(c)
	j.metrics.journal.flushes.Observe(since(j.metrics.clock, begun))
	if err != nil {
		j.metrics.journal.failed.Inc()
	}
	return err
}

// since is how long ago a reading was made, in seconds.
func since(clock clockguard.Clock, begun clockguard.Mono) float64 {
	return clock.Now().Mono.Sub(begun).Seconds()
}
