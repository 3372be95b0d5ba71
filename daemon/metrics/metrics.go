// Package metrics shows a daemon to Prometheus. What it shows is read when it is scraped, from
// counters that are there anyway: issuing knows nothing of it. It times the coordinator's calls.
package metrics

import (
	"net/http"
	"regexp"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/queue"
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
	Clock   clockguard.Clock // times calls
	// User tells whose a request is; nil: all are of one user.
	User func(*http.Request) queue.User
}

// Metrics answers scrapes. Its methods may be called from any goroutine.
type Metrics struct {
	answer http.Handler
	user   func(*http.Request) queue.User
	clock  clockguard.Clock
	calls  callMetrics

	mu   sync.Mutex
	open map[queue.User]int // scrapes that are answered
}

// scrapesAtOnce is how many scrapes of a user are answered at once; who comes beside them gets a
// 503.
const scrapesAtOnce = 4

// memory is what is shown of the Go runtime's memory, in place of the many figures of go_memstats.
var memory = collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^(/memory/classes/(heap/objects|total):bytes|/gc/heap/goal:bytes)$`)}

// settings are those of the Go runtime, which do not change and are not shown: --memory is.
var settings = regexp.MustCompile(`^/(gc/gogc|gc/gomemlimit|sched/gomaxprocs):`)

// New makes metrics with a registry of their own.
func New(from Sources) *Metrics {
	m := &Metrics{user: from.User, clock: from.Clock, calls: newCallMetrics(), open: make(map[queue.User]int)}
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(from), m.calls.durations, m.calls.outcomes,
		collectors.NewGoCollector(collectors.WithGoCollectorMemStatsMetricsDisabled(), collectors.WithGoCollectorRuntimeMetrics(memory),
			collectors.WithoutGoCollectorRuntimeMetrics(settings)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.answer = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return m
}

// ServeHTTP answers a scrape.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var u queue.User
	if m.user != nil {
		u = m.user(r)
	}
	if !m.begin(u) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "four scrapes of this user are being answered: try again after they are", http.StatusServiceUnavailable)
		return
	}
	defer m.end(u)
	m.answer.ServeHTTP(w, r)
}

func (m *Metrics) begin(u queue.User) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open[u] == scrapesAtOnce {
		return false
	}
	m.open[u]++
	return true
}

func (m *Metrics) end(u queue.User) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open[u]--; m.open[u] == 0 {
		delete(m.open, u)
	}
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
		buckets, count := make(map[float64]uint64), uint64(0)
		for i, n := range took.Counts {
			if count += n; i < len(tally.Bounds) {
				buckets[tally.Bounds[i]] = count
			}
		}
		to <- prometheus.MustNewConstHistogram(c.durations, count, took.Sum.Seconds(), buckets, dialect)
	}
}

const (
	durationName = "request_duration_seconds"
	durationHelp = "How long requests for IDs took: resp until the reply was sent, http until there were IDs."
)
