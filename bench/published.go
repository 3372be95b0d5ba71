package main

import (
	"context"
	"time"

	"github.com/flakeward/flakeward/bench/report"
)

const publishedGroup = "Published by others, on their machines: not measured here"

// published are figures that others give for their own generators, with what they say they were
// measured on.
var published = []struct {
	who, what string
	unit      report.Unit
	value     float64
	source    string
}{
	{"Meituan Leaf", "IDs over RPC", report.Rate, 50000, "about; TP999 1 ms; on 4 cores with 8 GB; by the project"},
	{"TiKV PD", "timestamps over gRPC, batched by the client", report.Rate, 812000, "about; 62% of the requests took over 1 ms; by the project"},
	{"noeqd", "IDs over TCP, one at a time, client without a network", report.Rate, 596000, "1,386,000/s in batches of 55; in the README, on a laptop of 2011"},
	{"redis-id-generator", "IDs from a Redis script", report.Rate, 29806, "by the project"},
	{"Baidu uid-generator", "CachedUidGenerator, in process: least and most", report.Rate, 6.08e6, "the most is 7,620,000/s; by the project"},
	{"CosId", "SnowflakeId, in process", report.Rate, 4095404, "the ceiling of its layout; P99.99 0.244 us; in the README, by JMH"},
	{"CosId", "SegmentChainId, in process", report.Rate, 127439148, "numbers out of segments, no times in them; in the README, by JMH"},
	{"bwmarrin/snowflake", "Generate", report.Seconds, 244e-9, "243 to 244 ns, the ceiling of its layout; in the README"},
	{"rs/xid", "New", report.Seconds, 32e-9, "32 to 56 ns, by the number of processors; by the project"},
	{"sonyflake", "NextID", report.Seconds, (38900 * time.Nanosecond).Seconds(), "the ceiling of its layout; by the project"},
}

// quotePublished lists them. Nothing is run.
func quotePublished(context.Context, setting) (found report.Findings, err error) {
	for _, p := range published {
		found.Figures = append(found.Figures, report.Figure{
			Group: publishedGroup, What: p.what, Unit: p.unit, Peer: p.who, Theirs: []float64{p.value}, Note: p.source,
		})
	}
	return found, nil
}
