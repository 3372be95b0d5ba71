package cluster

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

const (
	text = "time=41@1ms,worker=10,sequence=12;epoch=2026-01-01T00:00:00Z"
	uuid = "a585efdd-18f0-4ac5-b88f-afadbb14c340"
)

// noon is tick 11h of the layout text.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// at is the tick that is d from noon, with ticks of 1 ms.
func at(d time.Duration) generator.Tick {
	return generator.Tick((12*time.Hour + d) / time.Millisecond)
}

func sample(t *testing.T, layout string, floor generator.Tick) Cluster {
	t.Helper()
	return must.Get(Of(coord.Inspected{Layout: layout, UUID: uuid, Floor: floor}))(t)
}

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name, text string
		datacenter uint64
		workers    int
		err        string
	}{
		{"as daemons write it", text + ";datacenter=0", 0, 1024, ""},
		{"a datacenter", "time=41@1ms,datacenter=5,worker=5,sequence=12;epoch=2015-01-01T00:00:00Z;datacenter=31", 31, 32, ""},
		{"without one", text, 0, 1024, ""},
		{"more worker IDs than are assigned", "time=30@1s,worker=23,sequence=10;epoch=2026-01-01T00:00:00Z;datacenter=0", 0, coord.MaxWorkers, ""},
		{"no number", text + ";datacenter=x", 0, 0, "not a number"},
		{"no layout", "a;datacenter=1", 0, 0, "use the flakeward of the cluster's daemons"},
		{"nothing", "", 0, 0, "not understood"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Of(coord.Inspected{Layout: c.text, UUID: uuid, Floor: 7})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), uuid) {
					t.Errorf("the error is %v, want %q and the UUID in it", err, c.err)
				}
				return
			}
			must.Do(t, err)
			if got.Datacenter != c.datacenter || got.Workers != c.workers || got.UUID != uuid || got.Floor != 7 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestSpans(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                               "+0.0s",
		40 * time.Millisecond:           "+0.0s",
		400 * time.Millisecond:          "+0.4s",
		-400 * time.Millisecond:         "-0.4s",
		9949 * time.Millisecond:         "+9.9s",
		time.Hour - time.Millisecond:    "+1h0m",
		9951 * time.Millisecond:         "+10s",
		9*time.Minute + 58*time.Second:  "+9m58s",
		-9*time.Minute - 58*time.Second: "-9m58s",
		time.Hour:                       "+1h0m",
		47*time.Hour + 59*time.Minute:   "+47h59m",
		48 * time.Hour:                  "+2d0h",
		-(12*24 + 4) * time.Hour:        "-12d4h",
		time.Duration(math.MaxInt64):    "+106751d23h",
		time.Duration(math.MinInt64):    "-106751d23h",
	} {
		if got := Signed(d); got != want {
			t.Errorf("%d ns is %q, want %q", d, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	for s, want := range map[string]string{"": "-", "host-1": "host-1", "häst": "häst", "a b": "a b", "a\x1b[2J": `"a\x1b[2J"`, "a\tb": `"a\tb"`} {
		if got := Plain(s); got != want {
			t.Errorf("%q is shown as %q, want %q", s, got, want)
		}
	}
	if got := short("0123456789"); got != "01234567" {
		t.Errorf("short is %q", got)
	}
}

// The arithmetic of ages, with the clock where it should be, ahead and behind.
func TestMember(t *testing.T) {
	c := sample(t, text, 0)
	c.Window = 10 * time.Minute
	published := coord.Member{
		Worker: 3, Host: "h", Opening: "o", Since: noon.Add(-time.Hour),
		Ceiling: at(10 * time.Minute), Issued: at(-2 * time.Second),
	}
	type want struct {
		state                    string
		claimed, ceiling, issued string
		leftSeconds              float64
	}
	for _, k := range []struct {
		name   string
		now    time.Time
		change func(*coord.Member)
		want   want
	}{
		{"just published", noon, nil, want{Granted, "1h0m ago", "+10m0s", "2.0s ago", 600.001}},
		{"a while ago", noon.Add(8 * time.Second), nil, want{Granted, "1h0m ago", "+9m52s", "10s ago", 592.001}},
		{"the last tick of the grant", noon.Add(10 * time.Minute), nil, want{Granted, "1h10m ago", "+0.0s", "10m2s ago", 0.001}},
		{"the tick after it", noon.Add(10*time.Minute + time.Millisecond), nil, want{Stopped, "1h10m ago", "+0.0s", "10m2s ago", 0}},
		{"long over", noon.Add(3 * 24 * time.Hour), nil, want{Stopped, "3d1h ago", "-2d23h", "3d0h ago", -258599.999}},
		{"a window and the skew ahead", noon.Add(time.Millisecond - 10*time.Second), nil, want{Granted, "59m50s ago", "+10m10s", "in 8.0s", 610}},
		{"more than that", noon.Add(-10 * time.Second), nil, want{Ahead, "59m50s ago", "+10m10s", "in 8.0s", 610.001}},
		{"the clock went back", noon.Add(-time.Minute), nil, want{Ahead, "59m0s ago", "+11m0s", "in 58s", 660.001}},
		{"far back", noon.Add(-2 * time.Hour), nil, want{Ahead, "in 1h0m", "+2h10m", "in 1h59m", 7800.001}},
		{"issued ahead of the clock", noon, func(m *coord.Member) { m.Issued = at(3 * time.Second) }, want{Granted, "1h0m ago", "+10m0s", "in 3.0s", 600.001}},
		{"nothing issued yet", noon, func(m *coord.Member) { m.Issued = 0 }, want{Granted, "1h0m ago", "+10m0s", "-", 600.001}},
		{"not opened yet", noon, func(m *coord.Member) { m.Opening = "" }, want{Opening, "1h0m ago", "+10m0s", "2.0s ago", 600.001}},
	} {
		t.Run(k.name, func(t *testing.T) {
			m := published
			if k.change != nil {
				k.change(&m)
			}
			got := c.member(k.now, m)
			seen := want{got.State, got.words.claimed, got.words.ceiling, got.words.issued, *got.Left}
			if seen != k.want {
				t.Errorf("got  %+v\nwant %+v", seen, k.want)
			}
		})
	}
	t.Run("nothing known", func(t *testing.T) {
		got := c.member(noon, coord.Member{Worker: 3, Opening: "o"})
		if got.State != Stopped || got.words != (words{claimed: "-", ceiling: "-", issued: "-"}) || got.Since != nil || got.Age != nil || got.Left != nil || got.Issued != nil {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("before the epoch", func(t *testing.T) {
		got := c.member(noon.AddDate(-1, 0, 0), published)
		if got.State != Ahead || got.words.ceiling != "+365d0h" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a tick beyond all years", func(t *testing.T) {
		c := sample(t, "time=50@1s,worker=4,sequence=4;epoch=2026-01-01T00:00:00Z", 0)
		got := c.member(noon, coord.Member{Opening: "o", Ceiling: 1<<50 - 1})
		if got.State != Granted || got.Ceiling != nil || got.words.ceiling != "+106751d23h" {
			t.Errorf("got %+v", got)
		}
		must.Get(json.Marshal(got))(t)
	})
}

// A member waits until the clock has passed the cluster's floor: that of its making, or what all
// marks were raised to. One that has not claimed since a raise goes on by its grant of before.
func TestMembersWaitForTheFloor(t *testing.T) {
	c := sample(t, text, at(time.Minute))
	c.Window, c.ClusterEpoch = 20*time.Second, "epoch2"
	again := coord.Member{Worker: 3, Host: "h", Opening: coord.OpeningID("o", "epoch2"), Ceiling: at(time.Minute)}
	before := coord.Member{Worker: 4, Host: "i", Opening: coord.OpeningID("o", "epoch1"), Ceiling: at(19 * time.Second)}
	extended := again
	extended.Ceiling = at(time.Minute + 20*time.Second)
	for _, k := range []struct {
		now   time.Duration
		of    coord.Member
		state string
	}{
		{0, again, Waiting},
		{0, before, Granted},
		{20 * time.Second, before, Stopped},
		{time.Minute - time.Millisecond, extended, Waiting},
		{time.Minute, extended, Waiting}, // the last tick that may have been another's
		{time.Minute + time.Millisecond, extended, Granted},
	} {
		if got := c.member(noon.Add(k.now), k.of); got.State != k.state {
			t.Errorf("%v from the raise, %q is %q, want %q", k.now, k.of.Opening, got.State, k.state)
		}
	}

	made := c // and nothing was raised since
	made.ClusterEpoch = ""
	if got := made.member(noon, coord.Member{Opening: "o", Ceiling: at(time.Minute)}); got.State != Waiting {
		t.Errorf("before the cluster begins, a member is %q, want %q", got.State, Waiting)
	}

	var out strings.Builder
	status := StatusOf(c, noon, []coord.Member{again, before})
	must.Do(t, status.Table(&out))
	if want := "worker ID 3, h: the cluster's floor is ahead: it issues from 2026-01-01T12:01:00.001Z on, 1m0s from now\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("printed\n%s\nwant at the end\n%s", out.String(), want)
	}
	object, err := json.Marshal(status.Members)
	if want := `"waits_until":"2026-01-01T12:01:00.001Z","waits_for_seconds":60.001}`; err != nil || strings.Count(string(object), want) != 1 || strings.Count(string(object), "waits") != 2 {
		t.Errorf("printed\n%s\nwant once\n%s, %v", object, want, err)
	}
}

func members() []coord.Member {
	return []coord.Member{
		{Worker: 4, Host: "h1", PID: 11, Incarnation: "1a2b3c4d5e6f", Version: "v1.2.0", Claim: "c4", Since: noon.Add(-3 * time.Hour),
			Ceiling: at(9*time.Minute + 58*time.Second), Issued: at(-2300 * time.Millisecond), Opening: "o4"},
		{Worker: 70, Host: "evil\x1b[2J", PID: 12, Incarnation: "short", Claim: "c70", Ceiling: at(-12 * time.Second), Opening: "o70"},
	}
}

// The names are what scripts go by: they are added to, not changed.
func TestStatusInJSON(t *testing.T) {
	got := must.Get(json.Marshal(StatusOf(sample(t, text, at(-time.Minute)), noon, members())))(t)
	const want = `{"cluster":"a585efdd-18f0-4ac5-b88f-afadbb14c340","layout":"time=41@1ms,worker=10,sequence=12;epoch=2026-01-01T00:00:00Z","datacenter":0,"workers":1024,` +
		`"now":"2026-01-01T12:00:00Z","raised_tick":43140000,"raised":"2026-01-01T11:59:00Z","members":[` +
		`{"worker":4,"host":"h1","pid":11,"incarnation":"1a2b3c4d5e6f","version":"v1.2.0","claim":"c4","opening":"o4","state":"granted",` +
		`"since":"2026-01-01T09:00:00Z","age_seconds":10800,"ceiling_tick":43798000,"ceiling":"2026-01-01T12:09:58Z","ceiling_left_seconds":598.001,` +
		`"issued_tick":43197700,"issued":"2026-01-01T11:59:57.7Z","issued_age_seconds":2.3},` +
		`{"worker":70,"host":"evil\u001b[2J","pid":12,"incarnation":"short","version":"","claim":"c70","opening":"o70","state":"stopped",` +
		`"since":null,"age_seconds":null,"ceiling_tick":43188000,"ceiling":"2026-01-01T11:59:48Z","ceiling_left_seconds":-11.999,` +
		`"issued_tick":0,"issued":null,"issued_age_seconds":null}]}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, err := json.Marshal(StatusOf(sample(t, text, 0), noon, nil)); err != nil || !strings.Contains(string(got), `"raised":null,"members":[]}`) {
		t.Errorf("without members: %s, %v", got, err)
	}
}

func TestMarks(t *testing.T) {
	all := MarksOf(sample(t, text, 0), noon, []coord.Mark{
		{Worker: 4, Ceiling: at(9*time.Minute + 58*time.Second), Issued: at(-2300 * time.Millisecond), Holder: "o4", Claim: "c4"},
		{Worker: 5, Ceiling: at(-time.Hour), Holder: "o5"},
		{Worker: 6, Claim: "came meanwhile"},
		{Worker: 7, Damaged: true},
	}, members())
	var out strings.Builder
	must.Do(t, all.Table(&out))
	const want = `cluster a585efdd-18f0-4ac5-b88f-afadbb14c340: 4 records of 1024 worker IDs, layout time=41@1ms,worker=10,sequence=12;epoch=2026-01-01T00:00:00Z
worker IDs: 2 held, 0 resting, 1021 free, 1 damaged; if all hosts lost power now, nobody would wait

worker  ceiling                           issued    held by
4       2026-01-01T12:09:58.000Z  +9m58s  2.3s ago  h1, c4
5       2026-01-01T11:00:00.000Z  -1h0m    -         free
6       -                         -       -         came meanwhile
7       -                         -       -         free; the record is damaged: it is not assigned
`
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if got := out.String(); squeeze(got) != squeeze(want) {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
	object := must.Get(json.Marshal(all))(t)
	for _, part := range []string{
		`{"worker":4,"damaged":false,"ceiling_tick":43798000,"ceiling":"2026-01-01T12:09:58Z","ceiling_left_seconds":598.001,"issued_tick":43197700,` +
			`"issued":"2026-01-01T11:59:57.7Z","holder":"o4","claim":"c4","host":"h1"}`,
		`{"worker":7,"damaged":true,"ceiling_tick":0,"ceiling":null,"ceiling_left_seconds":null,"issued_tick":0,"issued":null,"holder":"","claim":"","host":""}`,
	} {
		if !strings.Contains(string(object), part) {
			t.Errorf("%s is missing in\n%s", part, object)
		}
	}
}

func TestTextfile(t *testing.T) {
	all := MarksOf(sample(t, "time=41@1ms,worker=2,sequence=12;epoch=2026-01-01T00:00:00Z", 0), noon, []coord.Mark{
		{Worker: 0, Ceiling: at(9 * time.Minute), Claim: "c0"}, {Worker: 1, Ceiling: at(90 * time.Second), Claim: "c1"},
		{Worker: 2, Ceiling: at(2 * time.Minute)}, {Worker: 3, Damaged: true},
	}, nil)
	file := filepath.Join(t.TempDir(), "flakeward.prom")
	must.Do(t, all.Textfile(file))
	const id, want = `cluster_id="a585efdd-18f0-4ac5-b88f-afadbb14c340"`, `flakeward_cluster_longest_wait_seconds{ID} 120.001
flakeward_cluster_waiting_after_power_cut{ID} 2
flakeward_cluster_worker_ids{ID,state="damaged"} 1
flakeward_cluster_worker_ids{ID,state="free"} 0
flakeward_cluster_worker_ids{ID,state="held"} 2
flakeward_cluster_worker_ids{ID,state="resting"} 1
`
	var got strings.Builder
	for line := range strings.Lines(string(must.Get(os.ReadFile(file))(t))) {
		if !strings.HasPrefix(line, "#") {
			got.WriteString(strings.Replace(line, id, "ID", 1))
		}
	}
	if got.String() != want {
		t.Errorf("wrote\n%s\nwant\n%s", got.String(), want)
	}
}
