// Package monitoring shows that Prometheus takes a daemon's metrics, and the rules, alerts and
// dashboard of deploy/mixin, as they are. Its tests run promtool and prometheus.
package monitoring
