package generator

import (
	"maps"
	"slices"
	"strings"
)

// presets are well-known layouts in their full form.
var presets = map[string]string{
	// 1,024 workers, 4,096,000 IDs/s each, until 2095.
	"flakeward": "time=41@1ms,worker=10,sequence=12;epoch=2026-01-01",

	// IdWorker.scala of twitter/snowflake (2010): twepoch = 1288834974657 ms.
	"twitter": "time=41@1ms,datacenter=5,worker=5,sequence=12;epoch=2010-11-04T01:42:54.657Z",

	// The API reference's page on snowflakes: ms since the first second of
	// 2015, then 5 bits of internal worker, 5 of internal process (which is
	// what tells lanes apart here) and 12 of increment.
	"discord": "time=41@1ms,datacenter=5,worker=5,sequence=12;epoch=2015-01-01",

	// DefaultUidGenerator.java of baidu/uid-generator: epochSeconds from 1463673600000 ms, which is
	// midnight of 2016-05-20 in China. It ran out of time on 2024-11-20.
	"uidgenerator": "time=28@1s,worker=22,sequence=13;epoch=2016-05-20T00:00:00+08:00",

	// hengyunabc/redis-id-generator: ms since 1970, 12 bits of shard, 10 of
	// sequence. It lasts until 2039.
	"redis": "time=41@1ms,worker=12,sequence=10;epoch=1970-01-01",

	// sonyflake.go of sony/sonyflake: 39 bits of 10 ms, the sequence above
	// the machine, from 2014-09-01 UTC unless a start time is given.
	"sonyflake": "time=39@10ms,sequence=8,worker=16;epoch=2014-09-01",

	// "Sharding & IDs at Instagram" (2012): our_epoch = 1314220021721 ms. Its
	// 41 bits of time reach into the sign, which an ID here never does: so 40
	// of them, until 2046; up to then the IDs are the same.
	"instagram": "time=40@1ms,worker=13,sequence=10;epoch=2011-08-24T21:07:01.721Z",

	// 53 bits, so that every ID is a safe integer of JavaScript (ECMA-262, Number.MAX_SAFE_INTEGER
	// = 2^53 - 1): 128 workers, 25,600 IDs/s each, until 2113.
	"js53": "time=38@10ms,worker=7,sequence=8;epoch=2026-01-01",
}

// Presets returns the names of the preset layouts, sorted.
func Presets() []string {
	return slices.Sorted(maps.Keys(presets))
}

func presetNames() string { return strings.Join(Presets(), ", ") }
