package generator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// parse returns the layout, or ends the test.
func parse(tb testing.TB, text string) *generator.Layout {
	tb.Helper()
	return must.Get(generator.ParseLayout(text))(tb)
}

// at reads an RFC 3339 time, or ends the test.
func at(tb testing.TB, text string) time.Time {
	tb.Helper()
	return must.Get(time.Parse(time.RFC3339, text))(tb)
}

// TestPublishedIDs decodes IDs whose parts are known from elsewhere, and puts them together again.
func TestPublishedIDs(t *testing.T) {
	tests := []struct {
		name   string
		layout string
		id     int64
		time   string
		parts  generator.Parts
	}{
		// Wikipedia, "Snowflake ID": a tweet of 2022-06-28, machine ID 01011 11010.
		{"tweet", "twitter", 1541815603606036480, "2022-06-28T16:07:40.105Z",
			generator.Parts{Datacenter: 11, Worker: 26}},
		// The Discord API reference's example; internal worker 1, process 0.
		{"discord reference", "discord", 175928847299117063, "2016-04-30T11:18:25.796Z",
			generator.Parts{Datacenter: 1, Worker: 0, Sequence: 7}},
		// The README of hengyunabc/redis-id-generator.
		{"redis-id-generator README", "redis", 5981966696448054276, "2015-03-13T02:00:00Z",
			generator.Parts{Worker: 53, Sequence: 4}},
		// "Sharding & IDs at Instagram": 1387263000 ms after the epoch, user
		// 31341 of 2000 shards, 5001st row. The post puts its example's epoch
		// on another day than its code does; the ID is the same.
		{"instagram post", "instagram", 1387263000<<23 | 1341<<10 | 5001%1024, "2011-09-09T22:28:04.721Z",
			generator.Parts{Worker: 31341 % 2000, Sequence: 905}},
		// uid-generator's README, parseUID; with the bits and the epoch of the
		// README's own configuration (29, 21, 13; 2016-09-20). The time zone
		// is that of the process, and so falls out.
		{"uid-generator README", "time=29@1s,worker=21,sequence=13;epoch=2016-09-20", 180363646902239241, "2017-01-19T12:15:46Z",
			generator.Parts{Worker: 4, Sequence: 9}},
		// BitsAllocator.allocate of uid-generator with its default bits:
		// delta << 35 | worker << 13 | sequence, here a day after the epoch.
		{"uid-generator code", "uidgenerator", 86400<<35 | 4194303<<13 | 8191, "2016-05-20T16:00:00Z",
			generator.Parts{Worker: 4194303, Sequence: 8191}},
		// The README of wujun234/uid-generator-spring-boot-starter (30, 16, 7;
		// 2019-02-20, in the process's time zone).
		{"uid-generator starter README", "time=30@1s,worker=16,sequence=7;epoch=2019-02-20", 450795408770, "2019-02-20T14:55:39Z",
			generator.Parts{Worker: 27, Sequence: 2}},
		// toID of sony/sonyflake: time << 24 | sequence << 16 | machine; its
		// default machine ID is the low half of an address, here 10.0.4.210.
		{"sonyflake code", "sonyflake", 8640001<<24 | 200<<16 | (4<<8 + 210), "2014-09-02T00:00:00.01Z",
			generator.Parts{Worker: 1234, Sequence: 200}},
		// The README of thedv91/sonyflake, a port with ticks of 1 ms.
		{"sonyflake port README", "time=39@1ms,sequence=8,worker=16;epoch=2020-05-18", 1211144891006978, "2020-05-18T20:03:09.861Z",
			generator.Parts{Worker: 2}},
		// twitter/snowflake's IdWorker: (timestamp - twepoch) << 22 |
		// datacenter << 17 | worker << 12 | sequence.
		{"twitter code", "twitter", 1<<22 | 31<<17 | 30<<12 | 4095, "2010-11-04T01:42:54.658Z",
			generator.Parts{Datacenter: 31, Worker: 30, Sequence: 4095}},
		// Reckoned by hand: 31,536,000,000 ms are the year 2026.
		{"flakeward", "flakeward", 31536000000<<22 | 1023<<12 | 1, "2027-01-01T00:00:00Z",
			generator.Parts{Worker: 1023, Sequence: 1}},
		// ECMA-262, Number.MAX_SAFE_INTEGER: the largest ID is exactly that.
		// 2^38-1 ticks are 2748779069.43 s.
		{"js53 at its end", "js53", 9007199254740991, "2113-02-08T13:44:29.43Z",
			generator.Parts{Worker: 127, Sequence: 255}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := parse(t, tt.layout)
			got := must.Get(l.Decompose(tt.id))(t)
			want := tt.parts
			want.Time = at(t, tt.time)
			want.Tick = l.TickAt(want.Time.UnixNano())
			if got != want {
				t.Errorf("Decompose(%d)\n got %+v\nwant %+v", tt.id, got, want)
			}
			want.Time = time.Time{}
			if id, err := l.Compose(want); err != nil || id != tt.id {
				t.Errorf("Compose(%+v) = %d, %v; want %d", want, id, err, tt.id)
			}
		})
	}
}

// TestPresets pins what each preset is, and its end.
func TestPresets(t *testing.T) {
	tests := []struct{ name, full, end string }{
		{"discord", "time=41@1ms,datacenter=5,worker=5,sequence=12;epoch=2015-01-01T00:00:00Z", "2084-09-06T15:47:35.552Z"},
		{"flakeward", "time=41@1ms,worker=10,sequence=12;epoch=2026-01-01T00:00:00Z", "2095-09-07T15:47:35.552Z"},
		{"instagram", "time=40@1ms,worker=13,sequence=10;epoch=2011-08-24T21:07:01.721Z", "2046-06-27T17:00:49.497Z"},
		{"js53", "time=38@10ms,worker=7,sequence=8;epoch=2026-01-01T00:00:00Z", "2113-02-08T13:44:29.44Z"},
		{"redis", "time=41@1ms,worker=12,sequence=10;epoch=1970-01-01T00:00:00Z", "2039-09-07T15:47:35.552Z"},
		{"sonyflake", "time=39@10ms,sequence=8,worker=16;epoch=2014-09-01T00:00:00Z", "2188-11-16T03:28:58.88Z"},
		{"twitter", "time=41@1ms,datacenter=5,worker=5,sequence=12;epoch=2010-11-04T01:42:54.657Z", "2080-07-10T17:30:30.209Z"},
		// The comment of DefaultUidGenerator.java: "until 2024-11-20 21:24:16" in China.
		{"uidgenerator", "time=28@1s,worker=22,sequence=13;epoch=2016-05-19T16:00:00Z", "2024-11-20T13:24:16Z"},
	}
	var names []string
	for _, tt := range tests {
		names = append(names, tt.name)
		l := parse(t, tt.name)
		if got := l.String(); got != tt.full {
			t.Errorf("preset %s is %s, want %s", tt.name, got, tt.full)
		}
		if got := l.End(); !got.Equal(at(t, tt.end)) {
			t.Errorf("preset %s ends %s, want %s", tt.name, got, tt.end)
		}
	}
	if got, want := strings.Join(generator.Presets(), " "), strings.Join(names, " "); got != want {
		t.Errorf("Presets() = %s, want %s", got, want)
	}
	if parse(t, generator.DefaultLayout).String() != parse(t, "flakeward").String() {
		t.Errorf("the default layout is %s", generator.DefaultLayout)
	}
}
