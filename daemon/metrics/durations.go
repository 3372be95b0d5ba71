package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/flakeward/flakeward/daemon/tally"
)

const (
	durationName = "request_duration_seconds"
	durationHelp = "How long requests for IDs took: resp until the reply was sent, http until there were IDs."
)

// durations is a histogram that was counted elsewhere, in both forms.
type durations struct {
	prometheus.Metric // the native form
	classic           []*dto.Bucket
}

func newDurations(desc *prometheus.Desc, dialect string, d tally.Durations) prometheus.Metric {
	native := make(map[int]int64)
	for i, n := range d.Native {
		if n > 0 {
			native[tally.FirstBucket+i] = int64(n)
		}
	}
	m := durations{Metric: prometheus.MustNewConstNativeHistogram(desc, d.Count, d.Sum.Seconds(), native, nil, 0, tally.Schema, 0, time.Time{}, dialect)}
	for i, bound := range tally.Bounds {
		m.classic = append(m.classic, &dto.Bucket{CumulativeCount: proto.Uint64(d.Classic[i]), UpperBound: proto.Float64(bound)})
	}
	return m
}

// Write implements prometheus.Metric.
func (d durations) Write(out *dto.Metric) error {
	if err := d.Metric.Write(out); err != nil {
		return err
	}
	out.Histogram.Bucket = d.classic
	out.Histogram.CreatedTimestamp = nil
	return nil
}
