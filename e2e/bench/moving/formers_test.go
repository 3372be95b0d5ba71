package moving_test

import (
	"testing"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	sonyflake1 "github.com/sony/sonyflake"
	sonyflake2 "github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// former is a generator that flakeward comes in the place of.
type former struct {
	name string
	// layout is the one that goes on in its number space, as docs/moving.md has it.
	layout     string
	datacenter uint64
	// ours are the worker IDs that flakeward has; empty: the datacenter keeps the two apart.
	ours  string
	parts generator.Parts // what each of its IDs has, besides time and sequence
	make  func(t *testing.T, parts generator.Parts) (next func() int64)
}

// formers are those that put a worker ID into each ID. Those that are Go modules make their IDs
// themselves.
var formers = []former{
	{
		name: "bwmarrin/snowflake", layout: "time=41@1ms,worker=10,sequence=12;epoch=2010-11-04T01:42:54.657Z", ours: "512-1023",
		parts: generator.Parts{Worker: 17},
		make: func(t *testing.T, parts generator.Parts) func() int64 {
			node, err := bwmarrin.NewNode(int64(parts.Worker))
			if err != nil {
				t.Fatal(err)
			}
			return func() int64 { return node.Generate().Int64() }
		},
	},
	{
		name: "sonyflake, version 1", layout: "sonyflake", ours: "61440-65535",
		parts: generator.Parts{Worker: 4<<8 + 210}, // the low half of 10.0.4.210
		make: func(t *testing.T, parts generator.Parts) func() int64 {
			flake, err := sonyflake1.New(sonyflake1.Settings{MachineID: func() (uint16, error) { return uint16(parts.Worker), nil }})
			if err != nil {
				t.Fatal(err)
			}
			return func() int64 {
				id, err := flake.NextID()
				if err != nil {
					t.Error(err)
				}
				return int64(id)
			}
		},
	},
	{
		name: "sonyflake, version 2", layout: "sonyflake;epoch=2025-01-01", ours: "61440-65535",
		parts: generator.Parts{Worker: 4<<8 + 210},
		make: func(t *testing.T, parts generator.Parts) func() int64 {
			flake, err := sonyflake2.New(sonyflake2.Settings{MachineID: func() (int, error) { return int(parts.Worker), nil }})
			if err != nil {
				t.Fatal(err)
			}
			return func() int64 {
				id, err := flake.NextID()
				if err != nil {
					t.Error(err)
				}
				return id
			}
		},
	},
	{
		name: "yitter", layout: "time=41@1ms,worker=6,sequence=6;epoch=2020-02-19T18:20:02Z", ours: "32-63",
		parts: generator.Parts{Worker: 9},
		make: func(_ *testing.T, parts generator.Parts) func() int64 {
			return yitter(uint16(parts.Worker))
		},
	},
	{
		// SnowflakeIDGenImpl.java of Meituan-Dianping/Leaf: (timestamp - 1288834974657) << 22 |
		// workerId << 12 | sequence, of which the first of a millisecond is up to 99.
		name: "Leaf, snowflake", layout: "time=41@1ms,worker=10,sequence=12;epoch=2010-11-04T01:42:54.657Z", ours: "512-1023",
		parts: generator.Parts{Worker: 3},
		make:  counting(time.Millisecond, 1288834974657, 22, 3<<12, 77, 4096),
	},
	{
		// CosId.java and MillisecondSnowflakeId.java of Ahoo-Wang/CosId: 41, 10 and 12 bits from
		// 1577203200000 ms.
		name: "CosId, milliseconds", layout: "time=41@1ms,worker=10,sequence=12;epoch=2019-12-24T16:00:00Z", ours: "512-1023",
		parts: generator.Parts{Worker: 5},
		make:  counting(time.Millisecond, 1577203200000, 22, 5<<12, 0, 4096),
	},
	{
		// SecondSnowflakeId.java of Ahoo-Wang/CosId: 31, 10 and 22 bits from 1577203200 s.
		name: "CosId, seconds", layout: "time=31@1s,worker=10,sequence=22;epoch=2019-12-24T16:00:00Z", ours: "512-1023",
		parts: generator.Parts{Worker: 5},
		make:  counting(time.Second, 1577203200, 32, 5<<22, 0, 1<<22),
	},
	{
		// BitsAllocator.java of baidu/uid-generator: delta << 35 | worker << 13 | sequence, with
		// the bits and an epoch as its README configures them (29, 21, 13; 2016-09-20).
		name: "uid-generator", layout: "time=29@1s,worker=21,sequence=13;epoch=2016-09-20", ours: "1048576-2097151",
		parts: generator.Parts{Worker: 4711},
		make:  counting(time.Second, 1474329600, 34, 4711<<13, 0, 8192),
	},
	{
		// Sequence.java of MyBatis-Plus and Snowflake.java of Hutool have the layout of
		// twitter/snowflake's IdWorker.scala: 41, 5, 5 and 12 bits from 1288834974657 ms.
		name: "Twitter's layout, a datacenter of ours", layout: "twitter", datacenter: 31,
		parts: generator.Parts{Datacenter: 2, Worker: 30},
		make:  counting(time.Millisecond, 1288834974657, 22, 2<<17|30<<12, 0, 4096),
	},
	{
		name: "Twitter's layout, one datacenter", layout: "twitter", datacenter: 2, ours: "24-31",
		parts: generator.Parts{Datacenter: 2, Worker: 7},
		make:  counting(time.Millisecond, 1288834974657, 22, 2<<17|7<<12, 0, 4096),
	},
}

// counting makes IDs by a formula: the time in units from an epoch, shifted, the bits that all have,
// and a number from first on, up to so many in a unit.
func counting(unit time.Duration, epoch int64, shift int, fixed, first, numbers int64) func(*testing.T, generator.Parts) func() int64 {
	return func(*testing.T, generator.Parts) func() int64 {
		var last, number int64
		return func() int64 {
			now := time.Now().UnixNano()/int64(unit) - epoch
			if number++; now > last {
				last, number = now, first
			} else if number == numbers {
				last, number = last+1, first // as one that borrows from the future does
			}
			return last<<shift | fixed | number
		}
	}
}

// rangeOf reads the worker IDs that flakeward has.
func (f former) rangeOf(t *testing.T) coord.WorkerRange {
	t.Helper()
	ids, err := coord.ParseWorkerRange(f.ours)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// yitter is that generator with its defaults.
func yitter(worker uint16) func() int64 {
	return idgen.NewDefaultIdGenerator(idgen.NewIdGeneratorOptions(worker)).NewLong
}
