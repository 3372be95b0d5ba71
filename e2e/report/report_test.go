package report

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestInjected(t *testing.T) {
	apart := append(oscillating("a", 10, 1, 0.05), oscillating("b", 10, 1, 0.05)...)
	apart = append(apart, fault("a", "kill -9", 1.1, 1.1), fault("a", "clock +1h", 9, 9))
	for name, c := range map[string]struct {
		faults []Fault
		want   int
	}{
		"none":                    {nil, 0},
		"an oscillation is one":   {oscillating("a", 200, 0, 0.05), 1},
		"hosts and sorts apart":   {apart, 4},
		"slow steps are each one": {oscillating("a", 5, 0, 0.3), 5},
		"in any order":            {[]Fault{fault("a", "x", 2, 2), fault("a", "x", 1, 1)}, 2},
	} {
		if got := (Drill{Faults: c.faults}).Injected(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		drill Drill
		want  string
	}{
		{Drill{}, "ok"},
		{Drill{Figures: []Figure{{Want: "<= 1", Met: false}}}, "ok"},
		{Drill{Failed: "x"}, "FAILED"},
		{Drill{Violations: 1}, "VIOLATED"},
		{Drill{Violations: 1, Failed: "x"}, "VIOLATED"},
	} {
		if got := c.drill.Verdict().String(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.drill, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	drills := several()
	drills[0].Name = strings.Repeat("a-long-name-", 10)
	drills[0].IDs, drills[0].Took = 999_999_999, time.Hour
	drills[1].Name = "two\nlines"
	drills[1].Figures = []Figure{{"p99 stall", "120 ms", "<= 100 ms", false}, {"median", "3 ms", "<= 5 ms", true}, {"free", "7", "", false}}
	drills[2].Violations, drills[2].Examples = 2, []string{"ID 17 twice"}
	drills[3].Failed = "host-2 had no IDs"
	drills[4].LongestStall, drills[4].Recovery = 15*time.Minute+20*time.Second, 15*time.Minute+20*time.Second
	var b strings.Builder
	if err := Table(&b, drills); err != nil {
		t.Fatal(err)
	}
	table, rest, _ := strings.Cut(b.String(), "\n\n")
	lines := strings.Split(table, "\n")
	if len(lines) != 1+len(drills) {
		t.Fatalf("%d lines for %d drills:\n%s", len(lines), len(drills), table)
	}
	at := runeIndex(lines[0], "verdict")
	ids := runeIndex(lines[0], "IDs checked") + len("IDs checked")
	for i, l := range lines {
		r := []rune(l)
		if len(r) > most {
			t.Errorf("%d columns: %s", len(r), l)
		}
		if i == 0 {
			continue
		}
		if got := strings.TrimSpace(string(r[at:])); got != drills[i-1].Verdict().String() || r[at-1] != ' ' {
			t.Errorf("the verdict of line %d is %q:\n%s", i, got, table)
		}
		if cell := string(r[:ids]); !strings.HasSuffix(cell, " "+grouped(drills[i-1].IDs)) || r[ids] != ' ' {
			t.Errorf("the IDs of line %d do not end in column %d:\n%s", i, ids, table)
		}
	}
	total, below, _ := strings.Cut(rest, "\n")
	for _, want := range []string{"6 drills, 61 faults, ", ", 2 violations, longest stall 15 min 20 s (quorum-lost, ZooKeeper), 2 drills FAILED"} {
		if !strings.Contains(total, want) {
			t.Errorf("not in the line that sums up: %q\n%s", want, total)
		}
	}
	want := "  oscillation on etcd: 2 violations, as in: ID 17 twice\n  leader-killed on etcd failed: host-2 had no IDs\n" +
		"  missed: two lines on etcd: p99 stall: 120 ms, wanted <= 100 ms\n"
	if below != want {
		t.Errorf("below the table:\n%swant\n%s", below, want)
	}
}

func runeIndex(s, part string) int { return utf8.RuneCountInString(s[:strings.Index(s, part)]) }

func TestFormats(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 24_113_000: "24,113,000", math.MaxUint64: "18,446,744,073,709,551,615"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %s", n, got)
		}
	}
	for n, want := range map[float64]string{0: "0", 950: "950", 1000: "1k", 1500: "1.5k", 99_600: "100k", 999_600: "1M", 1.5e6: "1.5M", 4e12: "4000G"} {
		if got := short(n); got != want {
			t.Errorf("short(%g) = %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "-", 400 * time.Microsecond: "0.4 ms", 9960 * time.Microsecond: "10 ms", 150 * time.Millisecond: "150 ms", 999_600 * time.Microsecond: "1.00 s",
		9_996 * time.Millisecond: "10.0 s", 61_240 * time.Millisecond: "61.2 s", 119_970 * time.Millisecond: "2 min", 920 * time.Second: "15 min 20 s",
	} {
		if got := lasting(d); got != want {
			t.Errorf("lasting(%v) = %s, want %s", d, got, want)
		}
	}
	for s, want := range map[string]string{"abc": "abc", "abcd": "ab…", "äöüß": "äö…", "": ""} {
		if got := shorten(s, 3); got != want {
			t.Errorf("shorten(%q) = %q", s, got)
		}
	}
}
