package generator_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
)

func TestParseLayoutPrintsOneForm(t *testing.T) {
	const custom = "time=41@1ms,datacenter=5,worker=5,sequence=12;epoch=2010-11-04T01:42:54.657Z"
	tests := []struct{ text, want string }{
		{custom, custom},
		{"twitter", custom},
		{"uidgenerator;epoch=2026-01-01", "time=28@1s,worker=22,sequence=13;epoch=2026-01-01T00:00:00Z"},
		{"time=30@1000ms,sequence=3,tenant=4,worker=5;epoch=2026-01-01", "time=30@1s,sequence=3,tenant=4,worker=5;epoch=2026-01-01T00:00:00Z"},
		{"sequence=1,time=1@1h,worker=1;epoch=2026-01-01T02:00:00+02:00", "sequence=1,time=1@1h,worker=1;epoch=2026-01-01T00:00:00Z"},
		{"time=50@1µs,worker=1,sequence=1;epoch=2026-01-01T00:00:00.000000001Z", "time=50@1us,worker=1,sequence=1;epoch=2026-01-01T00:00:00.000000001Z"},
		{"time=20@90s,worker=1,sequence=1;epoch=2026-01-01", "time=20@1m30s,worker=1,sequence=1;epoch=2026-01-01T00:00:00Z"},
		{"time=20@10m,worker=1,sequence=1;epoch=2026-01-01", "time=20@10m,worker=1,sequence=1;epoch=2026-01-01T00:00:00Z"},
		{"time=20@1h0m1s,worker=1,sequence=1;epoch=2026-01-01", "time=20@1h0m1s,worker=1,sequence=1;epoch=2026-01-01T00:00:00Z"},
	}
	for _, tt := range tests {
		l, err := generator.ParseLayout(tt.text)
		if err != nil {
			t.Errorf("ParseLayout(%q): %v", tt.text, err)
			continue
		}
		if got := l.String(); got != tt.want {
			t.Errorf("ParseLayout(%q) = %s, want %s", tt.text, got, tt.want)
		}
	}
}

// TestParseLayoutErrors: each error names the field, and what to do about it.
func TestParseLayoutErrors(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"preset", "flakeward, instagram"}},
		{"unknown preset", "snowflake", []string{`"snowflake"`, "no preset", "twitter"}},
		{"no epoch", "time=41@1ms,worker=10,sequence=12", []string{"epoch is missing", ";epoch=2026-01-01"}},
		{"another option", "twitter;start=2026-01-01", []string{`"start=2026-01-01"`, "epoch="}},
		{"epoch no time", "twitter;epoch=yesterday", []string{"epoch", `"yesterday"`, "2026-01-01"}},
		{"epoch no day", "twitter;epoch=2026-02-30", []string{"epoch", "2026-02-30"}},
		{"epoch too early", "twitter;epoch=1600-01-01", []string{"epoch", "1677-09-21", "2262-04-11"}},
		{"epoch too late", "twitter;epoch=2263-01-01", []string{"epoch", "1677-09-21", "2262-04-11"}},
		{"epoch too fine", "twitter;epoch=2026-01-01T00:00:00.1234567890Z", []string{"epoch", "10 decimals", "nine"}},
		{"unknown field", "time=41@1ms,machine=10,sequence=12;epoch=2026-01-01", []string{`"machine"`, "worker"}},
		{"no width", "time=41@1ms,worker,sequence=12;epoch=2026-01-01", []string{`"worker"`, "worker=10"}},
		{"bad width", "time=41@1ms,worker=x,sequence=12;epoch=2026-01-01", []string{"worker", `"x"`, "1 to 63"}},
		{"width 0", "time=41@1ms,worker=0,sequence=12;epoch=2026-01-01", []string{"worker", "0 bits", "leave it out"}},
		{"width 64", "time=64@1ms,worker=1,sequence=1;epoch=2026-01-01", []string{"time", "64 bits"}},
		{"twice", "time=41@1ms,worker=5,worker=5,sequence=12;epoch=2026-01-01", []string{"worker", "twice"}},
		{"64 bits", "time=41@1ms,worker=11,sequence=12;epoch=2026-01-01", []string{"64 bits", "narrower", "63"}},
		{"no time", "worker=10,sequence=12;epoch=2026-01-01", []string{"time", "missing"}},
		{"no worker", "time=41@1ms,sequence=12;epoch=2026-01-01", []string{"worker", "missing"}},
		{"no sequence", "time=41@1ms,worker=12;epoch=2026-01-01", []string{"sequence", "missing"}},
		{"no tick", "time=41,worker=10,sequence=12;epoch=2026-01-01", []string{"time", "time=41@1ms"}},
		{"bad tick", "time=41@fast,worker=10,sequence=12;epoch=2026-01-01", []string{"time", `"fast"`, "10ms"}},
		{"short tick", "time=41@999ns,worker=10,sequence=12;epoch=2026-01-01", []string{"time", "999ns", "1µs"}},
		{"negative tick", "time=41@-1ms,worker=10,sequence=12;epoch=2026-01-01", []string{"time", "-1ms", "1µs"}},
		{"tick elsewhere", "time=41@1ms,worker=10@1ms,sequence=12;epoch=2026-01-01", []string{"worker", "only time"}},
		{"long", strings.Repeat("time=41@1ms,", 100), []string{"1200 bytes", "256"}},
	}
	for _, tt := range tests {
		l, err := generator.ParseLayout(tt.text)
		if err == nil {
			t.Errorf("%s: ParseLayout(%q) = %v, want an error", tt.name, tt.text, l)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %q does not mention %q", tt.name, err, want)
			}
		}
	}
}

func TestLayoutFields(t *testing.T) {
	l := parse(t, "sonyflake")
	if l.Step() != 1<<16 || l.Workers() != 1<<16 || l.TickLength() != 10*time.Millisecond {
		t.Errorf("sonyflake: step %d, workers %d, tick %v", l.Step(), l.Workers(), l.TickLength())
	}
	for f, want := range map[generator.Field]int{
		generator.Time: 39, generator.Sequence: 8, generator.Worker: 16,
		generator.Datacenter: 0, generator.Tenant: 0, generator.Field(-1): 0, generator.Field(5): 0,
	} {
		if l.Bits(f) != want || l.Max(f) != 1<<want-1 {
			t.Errorf("sonyflake: %s has %d bits up to %d, want %d", f, l.Bits(f), l.Max(f), want)
		}
	}
	if l.MaxTick() != 1<<39-1 {
		t.Errorf("sonyflake: MaxTick %d", l.MaxTick())
	}
	if l := parse(t, "twitter"); l.Step() != 1 || l.Workers() != 32 {
		t.Errorf("twitter: step %d, workers %d", l.Step(), l.Workers())
	}
}

func TestCheckTime(t *testing.T) {
	tests := []struct {
		layout, now string
		want        []string // in the error; nil: no error
	}{
		{"uidgenerator", "2024-11-20T13:24:15.999Z", nil},
		{"uidgenerator", "2024-11-20T13:24:16Z", []string{"2024-11-20T13:24:16Z", "28 time bits", "later epoch"}},
		{"uidgenerator", "2026-08-01T00:00:00Z", []string{"2024-11-20T13:24:16Z"}},
		{"uidgenerator;epoch=2026-01-01", "2026-08-01T00:00:00Z", nil},
		{"flakeward", "2026-01-01T00:00:00.001Z", nil},
		{"flakeward", "2026-01-01T00:00:00Z", []string{"2026-01-01T00:00:00.001Z", "begins"}},
		{"flakeward", "2025-12-31T00:00:00Z", []string{"begins", "2025-12-31", "clock"}},
		{"flakeward", "9999-01-01T00:00:00Z", []string{"2095-09-07"}},
	}
	for _, tt := range tests {
		err := parse(t, tt.layout).CheckTime(at(t, tt.now))
		if (err == nil) != (tt.want == nil) {
			t.Errorf("%s at %s: %v", tt.layout, tt.now, err)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s at %s: error %q does not mention %q", tt.layout, tt.now, err, want)
			}
		}
	}
}

func TestYearsLeft(t *testing.T) {
	tests := []struct {
		layout, now string
		want        float64
	}{
		{"flakeward", "2026-01-01T00:00:00Z", (1 << 41) / 1e3 / 86400 / 365.2425},
		{"flakeward", "2095-09-07T15:47:35.552Z", 0},
		{"uidgenerator", "2025-11-20T13:24:16Z", -365 / 365.2425},
		// The years are more than an int64 of nanoseconds holds.
		{"time=40@1h,worker=1,sequence=1;epoch=2026-01-01", "2026-01-01T00:00:00Z", (1 << 40) / 24 / 365.2425},
	}
	for _, tt := range tests {
		got := parse(t, tt.layout).YearsLeft(at(t, tt.now))
		if math.Abs(got-tt.want) > 1e-6*(1+math.Abs(tt.want)) {
			t.Errorf("%s at %s: %v years left, want %v", tt.layout, tt.now, got, tt.want)
		}
	}
}

func TestBoundsHoldTheTimesOfASpanWithoutItsEnd(t *testing.T) {
	tests := []struct {
		name, layout, from, to string
		first, below           int64
	}{
		{"one tick", "flakeward", "2026-01-01T00:00:00.005Z", "2026-01-01T00:00:00.006Z", 5 << 22, 6 << 22},
		{"inside ticks", "flakeward", "2026-01-01T00:00:00.0041Z", "2026-01-01T00:00:00.0051Z", 5 << 22, 6 << 22},
		{"no tick starts in it", "flakeward", "2026-01-01T00:00:00.0041Z", "2026-01-01T00:00:00.0049Z", 5 << 22, 5 << 22},
		{"from before the epoch", "flakeward", "1900-01-01T00:00:00Z", "2026-01-01T00:00:00.001Z", 0, 1 << 22},
		{"to the last tick of 63 bits", "flakeward", "2095-09-07T15:47:35.550Z", "2095-09-07T15:47:35.551Z", (1<<41 - 2) << 22, (1<<41 - 1) << 22},
		{"to after the end", "time=10@1s,worker=5,sequence=5;epoch=2026-01-01", "2026-01-01T00:17:03Z", "9000-01-01T00:00:00Z", 1023 << 10, 1 << 20},
		{"ticks of 10 ms", "sonyflake", "2014-09-01T00:00:00.011Z", "2014-09-01T00:00:00.031Z", 2 << 24, 4 << 24},
	}
	for _, tt := range tests {
		first, below, err := parse(t, tt.layout).Bounds(at(t, tt.from), at(t, tt.to))
		if err != nil || first != tt.first || below != tt.below {
			t.Errorf("%s: Bounds = %d, %d, %v; want %d, %d", tt.name, first, below, err, tt.first, tt.below)
		}
	}
	bad := []struct{ layout, from, to, want string }{
		{"flakeward", "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", "swap"},
		{"flakeward", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z", "its end is not part of it"},
		{"flakeward", "2025-01-01T00:00:00Z", "2025-01-02T00:00:00Z", "not after the epoch"},
		{"flakeward", "2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "not after the epoch"},
		{"flakeward", "2096-01-01T00:00:00Z", "2096-01-02T00:00:00Z", "after the last tick"},
		{"flakeward", "2026-01-01T00:00:01Z", "2096-01-02T00:00:00Z", "or id >= 4194304000 alone"},
		{"worker=5,time=41@1ms,sequence=12;epoch=2026-01-01", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "the field worker above time"},
		{"datacenter=5,time=41@1ms,worker=5,sequence=12;epoch=2026-01-01", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "do not sort by time"},
	}
	for _, tt := range bad {
		if _, _, err := parse(t, tt.layout).Bounds(at(t, tt.from), at(t, tt.to)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s from %s to %s: error %v does not mention %q", tt.layout, tt.from, tt.to, err, tt.want)
		}
	}
}

func TestComposeErrors(t *testing.T) {
	l := parse(t, "flakeward")
	tests := []struct {
		parts generator.Parts
		want  string
	}{
		{generator.Parts{Tick: -1}, "tick -1"},
		{generator.Parts{Tick: 1 << 41}, "tick 2199023255552"},
		{generator.Parts{Tick: 1, Worker: 1024}, "worker is 1024"},
		{generator.Parts{Tick: 1, Sequence: 4096}, "sequence is 4096"},
		{generator.Parts{Tick: 1, Datacenter: 1}, "datacenter is 1"},
		{generator.Parts{Tick: 1, Tenant: 1}, "tenant is 1"},
	}
	for _, tt := range tests {
		if id, err := l.Compose(tt.parts); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Compose(%+v) = %d, %v; want an error with %q", tt.parts, id, err, tt.want)
		}
	}
}

func TestDecomposeErrors(t *testing.T) {
	l := parse(t, "js53")
	for id, want := range map[int64]string{
		-1:                   "negative",
		math.MinInt64:        "negative",
		9007199254740991 + 1: "too large",
		math.MaxInt64:        "too large",
	} {
		if parts, err := l.Decompose(id); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decompose(%d) = %+v, %v; want an error with %q", id, parts, err, want)
		}
	}
}
