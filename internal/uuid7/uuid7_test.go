package uuid7_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/uuid7"
)

const cluster = "6f1c1a52-0b67-4b8e-9d6a-3c2f4e5d7a81"

func coder(t testing.TB, layout, cluster string) (*uuid7.Coder, *generator.Layout) {
	t.Helper()
	l := must.Get(generator.ParseLayout(layout))(t)
	c, err := uuid7.New(l, cluster)
	if err != nil {
		t.Fatal(err)
	}
	return c, l
}

// anyLayout draws a layout of which New takes every tick, with fields in any order.
func anyLayout(t *rapid.T) *generator.Layout {
	width := func(name string, most int) int { return rapid.IntRange(1, most).Draw(t, name) }
	tick := rapid.SampledFrom([]string{"1us", "1001ns", "7us", "333us", "500us", "999999ns", "1ms", "1000001ns", "1500us", "10ms", "1s", "90s"}).Draw(t, "tick")
	length, _ := time.ParseDuration(tick)
	most := 1
	for most < 45 && float64(length)*math.Exp2(float64(most+1)) < math.Exp2(67) {
		most++
	}
	fields := []string{fmt.Sprintf("time=%d@%s", width("time", most), tick), fmt.Sprintf("worker=%d", width("worker", 6)), fmt.Sprintf("sequence=%d", width("sequence", 6))}
	for _, name := range []string{"datacenter", "tenant"} {
		if rapid.Bool().Draw(t, "with "+name) {
			fields = append(fields, fmt.Sprintf("%s=%d", name, width(name, 3)))
		}
	}
	fields = rapid.Permutation(fields).Draw(t, "order")
	epoch := rapid.Int64Range(0, 1<<61).Draw(t, "epoch")
	l := must.Get(generator.ParseLayout(strings.Join(fields, ",") + ";epoch=" + time.Unix(0, epoch).UTC().Format(time.RFC3339Nano)))(t)
	return l
}

func anyID(t *rapid.T, l *generator.Layout, name string) int64 {
	total := 0
	for _, f := range []generator.Field{generator.Time, generator.Datacenter, generator.Worker, generator.Tenant, generator.Sequence} {
		total += l.Bits(f)
	}
	return rapid.Int64Range(0, math.MaxInt64>>(63-total)).Draw(t, name)
}

// Whatever the layout, the UUID is of version 7, its time is the tick's, and the ID is had back.
// UUIDs sort by time, and with the time as the highest field as the numbers.
func TestEachIDIsHadBackFromItsUUID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := anyLayout(t)
		c := must.Get(uuid7.New(l, cluster))(t)
		id := anyID(t, l, "id")
		u := must.Get(c.Encode(id))(t)
		parts, err := l.Decompose(id)
		if err != nil {
			t.Fatal(err)
		}
		if ms := int64(u[0])<<40 | int64(u[1])<<32 | int64(u[2])<<24 | int64(u[3])<<16 | int64(u[4])<<8 | int64(u[5]); ms != parts.Time.UnixMilli() {
			t.Errorf("the UUID of %d has the time %d, the ID's tick begins at %d ms", id, ms, parts.Time.UnixMilli())
		}
		if u[6]>>4 != 7 || u[8]>>6 != 2 {
			t.Errorf("the UUID of %d, %x, is not of version 7 and variant 2", id, u)
		}
		if back, err := c.Decode(u); back != id || err != nil {
			t.Errorf("%d in layout %s is %x, which is decoded as %d, %v", id, l, u, back, err)
		}
		text := string(c.AppendText(nil, id))
		if back, err := c.Parse(text); back != id || err != nil {
			t.Errorf("%d is %s, which is parsed as %d, %v", id, text, back, err)
		}
		other := anyID(t, l, "other")
		if near := id ^ 1<<rapid.IntRange(0, 20).Draw(t, "bit"); rapid.Bool().Draw(t, "near") {
			if _, err := c.Encode(near); err == nil {
				other = near
			}
		}
		than := string(c.AppendText(nil, other))
		if got, want := cmp.Compare(text, than), order(l, id, other); got != want {
			t.Errorf("layout %s: the UUIDs of %d and %d compare as %d, want %d\n%s\n%s", l, id, other, got, want, text, than)
		}
	})
}

// The last tick that begins in a millisecond fits, also where they are just more than a power of
// two.
func TestEachTickOfAMillisecondFits(t *testing.T) {
	for tick, ticks := range map[string]int64{"500us": 2, "200us": 5, "100us": 10, "1us": 1000} {
		l := must.Get(generator.ParseLayout("time=48@" + tick + ",worker=5,sequence=5;epoch=2026-01-01"))(t)
		c := must.Get(uuid7.New(l, cluster))(t)
		for i := range ticks {
			id := must.Get(l.Compose(generator.Parts{Tick: generator.Tick(ticks + i)}))(t)
			if back, err := c.Decode(must.Get(c.Encode(id))(t)); back != id || err != nil {
				t.Errorf("ticks of %s: %d is decoded as %d, %v", tick, id, back, err)
			}
		}
	}
}

// order compares two IDs as their UUIDs should be: by time, then by all other bits.
func order(l *generator.Layout, a, b int64) int {
	p, _ := l.Decompose(a)
	q, _ := l.Decompose(b)
	return cmp.Or(cmp.Compare(p.Tick, q.Tick), cmp.Compare(a, b))
}

// Each layout that a UUID cannot hold is refused with the reason, and no other.
func TestNewSaysWhyALayoutHasNoUUIDs(t *testing.T) {
	for _, c := range []struct{ layout, want string }{
		{"redis", ""},
		{"time=41@1ms,worker=5,sequence=5;epoch=1969-12-31T23:59:59.999Z", "begins before 1970"},
		{"time=48@1ms,worker=5,sequence=5;epoch=1970-01-01", ""},
		{"time=48@1ms,worker=5,sequence=5;epoch=1970-01-01T00:00:00.001Z", "ends after the year 10889"},
		{"time=49@1ms,worker=5,sequence=5;epoch=1970-01-01", "ends after the year 10889"},
		{"time=61@1h,worker=1,sequence=1;epoch=2026-01-01", "ends after the year 10889"},
		{"time=61@1us,worker=1,sequence=1;epoch=2026-01-01", "ends after the year 10889"},
		{"time=1@1us,worker=31,sequence=31;epoch=2026-01-01", ""},
	} {
		l := must.Get(generator.ParseLayout(c.layout))(t)
		made, err := uuid7.New(l, cluster)
		if (err == nil) != (c.want == "") || (made == nil) != (err != nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("New of %s: %v; want %q", c.layout, err, c.want)
		}
	}
}

func TestForeignUUIDsAreRefusedWithTheReason(t *testing.T) {
	c, _ := coder(t, "flakeward", cluster)
	another, _ := coder(t, "flakeward", strings.Replace(cluster, "6", "7", 1))
	slow, _ := coder(t, "sonyflake", cluster)
	const id = 1<<60 | 12345
	mine := string(c.AppendText(nil, id))
	with := func(text string, at int, b byte) string { return text[:at] + string(b) + text[at+1:] }
	for _, tt := range []struct {
		name, text, want string
		c                *uuid7.Coder
	}{
		{"empty", "", "0 characters, not 36", c},
		{"in braces", "{" + mine + "}", "38 characters, not 36", c},
		{"without hyphens", strings.ReplaceAll(mine, "-", ""), "32 characters, not 36", c},
		{"upper case", strings.ToUpper(mine), "in lower case", c},
		{"no digit", with(mine, 3, 'g'), `"g" as character 4`, c},
		{"no digit in the second place", with(mine, 1, ' '), `" " as character 2`, c},
		{"a letter of two bytes", mine[:34] + "é", `"é" as character 35`, c},
		{"no hyphen", with(mine, 13, '0'), `"0" as character 14, where it needs a hyphen`, c},
		{"version 4", with(mine, 14, '4'), "of version 4", c},
		{"the nil UUID", "00000000-0000-0000-0000-000000000000", "variant", c},
		{"an old variant", with(mine, 19, 'c'), "variant is none of RFC 9562's", c},
		{"another cluster's", string(another.AppendText(nil, id)), "another cluster than " + cluster, c},
		{"a bit of the hash", with(mine, 17, mine[17]^1), "another cluster", c},
		{"before the epoch", "00" + mine[2:], "no tick of layout", c},
		{"after the end", "f" + mine[1:], "no tick of layout", c},
		{"between two ticks", with(string(slow.AppendText(nil, id)), 12, 'e'), "no tick of layout", slow},
	} {
		if got, err := tt.c.Parse(tt.text); err == nil || got != 0 || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Parse(%q) = %d, %v; want an error with %q", tt.name, tt.text, got, err, tt.want)
		}
	}
}

// An ID of another layout has no UUID: it is never written as one that can be read.
func TestIDsOfOtherLayoutsHaveNoUUID(t *testing.T) {
	c, _ := coder(t, "js53", cluster)
	for _, id := range []int64{-1, math.MinInt64, 1 << 53, math.MaxInt64} {
		if u, err := c.Encode(id); err == nil || u != [16]byte{} {
			t.Errorf("Encode(%d) = %x, %v", id, u, err)
		}
		text := c.AppendText(nil, id)
		if back, err := c.Parse(string(text)); err == nil {
			t.Errorf("%d is written as %s, which is parsed as %d", id, text, back)
		}
	}
	if u, err := c.Encode(1<<53 - 1); err != nil {
		t.Errorf("the last ID: %x, %v", u, err)
	}
}

var vector = regexp.MustCompile("(?m)^\\| `(.*;epoch=.*)` \\| (\\d+) \\| `(.*)` \\|$")

func TestVectorsOfThePage(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/forms.md"))(t)
	rows := vector.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 10 {
		t.Fatalf("docs/forms.md has %d vectors of UUIDs", len(rows))
	}
	for _, row := range rows {
		c, _ := coder(t, row[1], cluster)
		id := must.Get(strconv.ParseInt(row[2], 10, 64))(t)
		if got := string(c.AppendText(nil, id)); got != row[3] {
			t.Errorf("layout %s: %d is %s, the page says %s", row[1], id, got, row[3])
		}
		if got, err := c.Parse(row[3]); got != id || err != nil {
			t.Errorf("layout %s: %s is %d, %v, the page says %d", row[1], row[3], got, err, id)
		}
	}
}
