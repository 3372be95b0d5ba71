package report

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
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
	drills := []Drill{
		{Name: "no-faults", Coordinator: "etcd", IDs: 999_999_999},
		{Name: "two\nlines", Coordinator: "etcd", Faults: []Fault{fault("host-1", "clock -1h", 12, 12)},
			Figures: []Figure{{"p99 stall", "120 ms", "<= 100 ms", false}, {"median", "3 ms", "<= 5 ms", true}, {"free", "7", "", false}}},
		{Name: "oscillation", Coordinator: "etcd", Faults: oscillating("host-2", 200, 20, 0.05), Violations: 2, Examples: []string{"ID 17 twice"}},
		{Name: "leader-killed", Coordinator: "etcd", Failed: "host-2 had no IDs" + strings.Repeat(".", longestLine)},
		{Name: "quorum-lost", Coordinator: "ZooKeeper", LongestStall: 15*time.Minute + 20*time.Second, Recovery: 15*time.Minute + 20*time.Second},
	}
	var b strings.Builder
	if err := Write(&b, Run{When: time.Unix(1e9, 0), Took: time.Minute, Seed: "8123", Commit: "abc", Cores: 2, Versions: []string{"etcd 3"}, Drills: drills}); err != nil {
		t.Fatal(err)
	}
	page := strings.Split(b.String(), "\n\n")
	if len(page) != 4 || page[1] != "2001-09-09 01:46 UTC, took 60.0 s, on 2 cores, flakeward abc, etcd 3, seed 8123" {
		t.Fatalf("%d parts:\n%s", len(page), b.String())
	}
	rows := strings.Split(page[2], "\n")
	for i, d := range drills {
		name := strings.ReplaceAll(d.Name, "\n", " ")
		if row := rows[i+2]; !strings.HasPrefix(row, "| "+name+" ") || !strings.HasSuffix(row, "| "+d.Verdict().String()+" |") || !strings.Contains(row, " "+grouped(d.IDs)+" |") {
			t.Errorf("the row of %s is %q", d.Name, row)
		}
	}
	total, below, _ := strings.Cut(page[3], "\n")
	for _, want := range []string{"5 drills, 2 faults, ", ", 2 violations, longest stall 15 min 20 s (quorum-lost, ZooKeeper), 2 drills FAILED"} {
		if !strings.Contains(total, want) {
			t.Errorf("not in the line that sums up: %q\n%s", want, total)
		}
	}
	for _, want := range []string{"- oscillation on etcd: 2 violations, as in: ID 17 twice\n", "\n- leader-killed on etcd failed: host-2 had no IDs..",
		".\n- missed: two lines on etcd: p99 stall: 120 ms, wanted <= 100 ms\n"} {
		if !strings.Contains(below, want) || len(below) > 2*longestLine {
			t.Errorf("below the table, not %q:\n%s", want, below)
		}
	}
}

func TestWriteSaysWhatFails(t *testing.T) {
	for n := range 3 { // the head, the table, what is below it
		if err := Write(&full{n}, Run{}); err == nil {
			t.Errorf("a report that ends after %d parts is no error", n)
		}
	}
}

// full has room for so many writes.
type full struct{ room int }

func (f *full) Write(b []byte) (int, error) {
	if f.room--; f.room < 0 {
		return 0, errors.New("no space")
	}
	return len(b), nil
}

func TestFormats(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 24_113_000: "24,113,000", math.MaxUint64: "18,446,744,073,709,551,615"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %s", n, got)
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
}
