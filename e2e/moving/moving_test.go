// Package moving_test reads the IDs of other generators by the layouts of docs/moving.md. Those
// that are Go modules make their IDs themselves, the others' are made by their formulas.
package moving_test

import (
	"os"
	"strings"
	"testing"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	sonyflake1 "github.com/sony/sonyflake"
	sonyflake2 "github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// Each layout reads worker ID, datacenter and time out of the other's ID.
func TestTheirIDsByOurLayouts(t *testing.T) {
	docs := string(must.Get(os.ReadFile("../../docs/moving.md"))(t))
	node := must.Get(bwmarrin.NewNode(17))(t)
	flake1 := must.Get(sonyflake1.New(sonyflake1.Settings{MachineID: func() (uint16, error) { return 4<<8 + 210, nil }}))(t)
	flake2 := must.Get(sonyflake2.New(sonyflake2.Settings{MachineID: func() (int, error) { return 4<<8 + 210, nil }}))(t)
	milliseconds, seconds := time.Now().UnixMilli(), time.Now().Unix()
	for _, f := range []struct {
		name, layout       string
		id                 int64
		datacenter, worker uint64
	}{
		{"bwmarrin/snowflake", "time=41@1ms,worker=10,sequence=12;epoch=2010-11-04T01:42:54.657Z", node.Generate().Int64(), 0, 17},
		// Its worker ID is the low half of 10.0.4.210.
		{"sonyflake, version 1", "sonyflake", int64(must.Get(flake1.NextID())(t)), 0, 1234},
		{"sonyflake, version 2", "sonyflake;epoch=2025-01-01", must.Get(flake2.NextID())(t), 0, 1234},
		{"yitter", "time=41@1ms,worker=6,sequence=6;epoch=2020-02-19T18:20:02Z", idgen.NewDefaultIdGenerator(idgen.NewIdGeneratorOptions(9)).NewLong(), 0, 9},
		// SnowflakeIDGenImpl.java of Meituan-Dianping/Leaf: (timestamp - 1288834974657) << 22 |
		// workerId << 12 | sequence.
		{"Leaf, snowflake", "time=41@1ms,worker=10,sequence=12;epoch=2010-11-04T01:42:54.657Z", (milliseconds-1288834974657)<<22 | 3<<12 | 77, 0, 3},
		// CosId.java and MillisecondSnowflakeId.java of Ahoo-Wang/CosId: 41, 10 and 12 bits.
		{"CosId, milliseconds", "time=41@1ms,worker=10,sequence=12;epoch=2019-12-24T16:00:00Z", (milliseconds-1577203200000)<<22 | 5<<12, 0, 5},
		// SecondSnowflakeId.java of Ahoo-Wang/CosId: 31, 10 and 22 bits.
		{"CosId, seconds", "time=31@1s,worker=10,sequence=22;epoch=2019-12-24T16:00:00Z", (seconds-1577203200)<<32 | 5<<22, 0, 5},
		// BitsAllocator.java of baidu/uid-generator, with the bits and an epoch as its README
		// configures them (29, 21, 13; 2016-09-20).
		{"uid-generator", "time=29@1s,worker=21,sequence=13;epoch=2016-09-20", (seconds-1474329600)<<34 | 4711<<13, 0, 4711},
		// Sequence.java of MyBatis-Plus and Snowflake.java of Hutool have the layout of
		// twitter/snowflake's IdWorker.scala: 41, 5, 5 and 12 bits.
		{"Twitter's layout", "twitter", (milliseconds-1288834974657)<<22 | 2<<17 | 30<<12, 2, 30},
	} {
		p := must.Get(must.Get(generator.ParseLayout(f.layout))(t).Decompose(f.id))(t)
		if age := time.Since(p.Time); p.Datacenter != f.datacenter || p.Worker != f.worker || age.Abs() > time.Minute {
			t.Errorf("%s: %d is %+v; want datacenter %d and worker ID %d about now", f.name, f.id, p, f.datacenter, f.worker)
		}
		if !strings.Contains(docs, "--layout "+f.layout) && !strings.Contains(docs, "--layout '"+f.layout+"'") {
			t.Errorf("%s: docs/moving.md does not have the layout %s", f.name, f.layout)
		}
	}
}
