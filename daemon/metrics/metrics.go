// Package metrics shows a daemon to Prometheus. What it shows is read when it is scraped, from
// counters that are there anyway: issuing knows nothing of it. Calls of the coordinator and flushes
// of the journal are timed here.
package metrics

import (
	"net/http"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/tally"
)

// prefix is of all metrics' names but those of the Go runtime and the process.
const prefix = "flakeward_"

// Sources is where the metrics are read.
type Sources struct {
	Version string
	Figures func() Figures // must not block
	Counts  *tally.Table
	Events  *condition.Counts
	Clock   clockguard.Clock // times calls and flushes
}

// Metrics answers scrapes. Its methods may be called from any goroutine.
type Metrics struct {
	http.Handler
	clock   clockguard.Clock
	journal journalMetrics
	calls   callMetrics
}

// scrapesAtOnce is how many scrapes are answered at once; who comes beside them gets a 503.
const scrapesAtOnce = 4

// memory is what is shown of the Go runtime's memory, in place of the many figures of go_memstats.
var memory = collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^(/memory/classes/(heap/objects|total):bytes|/gc/heap/goal:bytes)$`)}

// New makes metrics with a registry of their own.
func New(from Sources) *Metrics {
	m := &Metrics{clock: from.Clock, journal: newJournalMetrics(), calls: newCallMetrics()}
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(from), m.journal.flushes, m.journal.failed, m.calls.durations, m.calls.outcomes,
		collectors.NewGoCollector(collectors.WithGoCollectorMemStatsMetricsDisabled(), collectors.WithGoCollectorRuntimeMetrics(memory)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.Handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapesAtOnce})
	return m
}

// scrape is what one scrape reads.
type scrape struct {
	Figures
	from    Sources
	counted tally.Snapshot
}

// collector reads the families.
type collector struct {
	from      Sources
	descs     []*prometheus.Desc // of the families
	durations *prometheus.Desc
}

func newCollector(from Sources) *collector {
	c := &collector{from: from}
	for _, f := range families {
		c.descs = append(c.descs, prometheus.NewDesc(prefix+f.name, f.help, f.labels, nil))
	}
	c.durations = prometheus.NewDesc(prefix+durationName, durationHelp, []string{"dialect"}, nil)
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		to <- desc
	}
	to <- c.durations
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s := &scrape{from: c.from, Figures: c.from.Figures(), counted: c.from.Counts.Snapshot()}
	for i, f := range families {
		f.read(s, func(value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(c.descs[i], f.kind, value, labels...)
		})
	}
	for dialect, took := range s.counted.Durations {
		to <- newDurations(c.durations, dialect, took)
	}
}
