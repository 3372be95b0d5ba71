package metrics

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

type callMetrics struct {
	durations *prometheus.HistogramVec
	outcomes  *prometheus.CounterVec
}

const (
	callName  = "coordinator_call_duration_seconds"
	callHelp  = "How long calls of the coordinator took."
	callsName = "coordinator_calls_total"
	callsHelp = "Calls of the coordinator, by how they ended."
)

func newCallMetrics() callMetrics {
	return callMetrics{
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + callName, Help: callHelp,
			Buckets: []float64{.0025, .01, .05, .25, 2},
		}, []string{"call"}),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + callsName, Help: callsHelp,
		}, []string{"call", "outcome"}),
	}
}

// outcomeOf names how a call has ended.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, coord.ErrRaised):
		return "raised"
	case errors.Is(err, coord.ErrLost):
		return "lost"
	case errors.As(err, new(*coord.ExhaustedError)):
		return "taken"
	case errors.As(err, new(*coord.AheadError)):
		return "ahead"
	case errors.As(err, new(*coord.RestoredError)):
		return "restored"
	case errors.Is(err, coord.ErrOtherCluster):
		return "other-cluster"
	case errors.As(err, new(*coord.LayoutError)):
		return "other-layout"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	default:
		return "error"
	}
}

// call times one call.
func (m *Metrics) call(name string, do func() error) {
	begun := m.clock.Now().Mono
	err := do()
	m.calls.durations.WithLabelValues(name).Observe(m.clock.Now().Mono.Sub(begun).Seconds())
	m.calls.outcomes.WithLabelValues(name, outcomeOf(err)).Inc()
}

// Coordinator returns a coordinator that does what c does, and whose calls are timed.
func (m *Metrics) Coordinator(c coord.Coordinator) coord.Coordinator { return timed{c, m} }

type (
	timed struct {
		coord.Coordinator
		metrics *Metrics
	}
	timedClaim struct {
		coord.Claim
		metrics *Metrics
	}
)

// Join implements coord.Coordinator, as do the next three.
func (t timed) Join(ctx context.Context, layout coord.Layout) (c coord.Cluster, err error) {
	t.metrics.call("join", func() error { c, err = t.Coordinator.Join(ctx, layout); return err })
	return c, err
}

// Look looks.
func (t timed) Look(ctx context.Context) (c coord.Cluster, err error) {
	t.metrics.call("look", func() error { c, err = t.Coordinator.Look(ctx); return err })
	return c, err
}

// Claim claims.
func (t timed) Claim(ctx context.Context, r coord.Request) (c coord.Claim, err error) {
	t.metrics.call("claim", func() error { c, err = t.Coordinator.Claim(ctx, r); return err })
	if err != nil {
		return c, err
	}
	return &timedClaim{c, t.metrics}, nil
}

// Members lists the members.
func (t timed) Members(ctx context.Context) (all []coord.Member, err error) {
	t.metrics.call("members", func() error { all, err = t.Coordinator.Members(ctx); return err })
	return all, err
}

// Extend implements coord.Claim.
func (t *timedClaim) Extend(ctx context.Context, p coord.Progress) (err error) {
	t.metrics.call("extend", func() error { err = t.Claim.Extend(ctx, p); return err })
	return err
}

// Release gives the worker ID back.
func (t *timedClaim) Release(ctx context.Context, last generator.Last) (err error) {
	t.metrics.call("release", func() error { err = t.Claim.Release(ctx, last); return err })
	return err
}
