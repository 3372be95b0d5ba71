package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const nasty = `<script>alert("1")</script>&'` + "\x00"

// elements reads XML, which has to be well formed, and counts its elements by name and class.
func elements(t interface{ Fatalf(string, ...any) }, text string) (counts map[string]int, words string) {
	counts = map[string]int{}
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return counts, words
		}
		if err != nil {
			t.Fatalf("not well formed: %v\n%s", err, text)
		}
		switch e := token.(type) {
		case xml.StartElement:
			class := ""
			for _, a := range e.Attr {
				if a.Name.Local == "class" {
					class = a.Value
				}
				if slices.Contains([]string{"NaN", "+Inf", "-Inf"}, a.Value) {
					t.Fatalf("%s of %s is %s", a.Name.Local, e.Name.Local, a.Value)
				}
			}
			counts[e.Name.Local+" "+class]++
		case xml.CharData:
			words += string(e) + "\n"
		}
	}
}

func TestTimelineHasAMarkForEachFault(t *testing.T) {
	for _, d := range several() {
		counts, words := elements(t, Timeline(d))
		// One more is in the key.
		if got := counts["line fw-at"] - 1; got != len(d.Faults) {
			t.Errorf("%s: %d marks for %d faults", d.Name, got, len(d.Faults))
		}
		lasting := 0
		for _, f := range d.Faults {
			if f.Until > f.At {
				lasting++
			}
			if told := (plot{drill: d}).told(f); !strings.Contains(words, told) {
				t.Errorf("%s: nothing tells %q", d.Name, told)
			}
		}
		if got := counts["rect fw-band"] - 1; got < lasting {
			t.Errorf("%s: %d bands for %d faults that last", d.Name, got, lasting)
		}
		if got := counts["path fw-ids"]; got != len(d.Hosts) {
			t.Errorf("%s: %d areas for %d hosts", d.Name, got, len(d.Hosts))
		}
		for _, l := range d.Hosts {
			if len(l.Stalls) > 0 && !strings.Contains(words, "\n"+lastingOf(l)+"\n") {
				t.Errorf("%s: the longest stall of %s has no length", d.Name, l.Host)
			}
		}
	}
}

func lastingOf(l Line) string { return lasting(LongestStall([]Line{l})) }

func TestTimelineEscapes(t *testing.T) {
	d := made(nasty, nasty, 2, 20*time.Second, []Fault{fault(nasty, nasty, 1, 2), fault("host-1", nasty, 3, 3), fault("", nasty, 4, 4)}, nil)
	d.Hosts[1].Host = nasty
	counts, _ := elements(t, Timeline(d))
	if counts["script "] != 0 {
		t.Error("a name became an element")
	}
	counts, _ = elements(t, Summary([]Drill{d}, d))
	if counts["script "] != 0 {
		t.Error("a name became an element of the summary")
	}
}

func TestTimelineOfNothing(t *testing.T) {
	for _, d := range []Drill{{}, {Began: 5, Ended: 5, Hosts: []Line{{Host: "a", Every: 1}}}, {Ended: 9, Hosts: []Line{{}}}, {Ended: 1 << 62, Faults: []Fault{fault("a", "", 9, 9)}}} {
		elements(t, Timeline(d))
	}
}

// As few labels as there have to be: those that fit are not gathered, and an oscillation is one.
func TestLabels(t *testing.T) {
	at := func(f Fault) (float64, float64) {
		return float64(f.At-start) / 1e9, float64(f.Until-start) / 1e9
	}
	for name, c := range map[string]struct {
		faults []Fault
		want   []string
	}{
		"apart":           {[]Fault{fault("a", "kill -9", 10, 10), fault("a", "clock -1h", 14, 14)}, []string{"kill -9", "clock -1h"}},
		"an oscillation":  {oscillating("a", 200, 10, 0.05), []string{"200 × clock"}},
		"equal ones":      {[]Fault{fault("a", "kill -9", 10, 10), fault("a", "kill -9", 11, 11)}, []string{"2 × kill -9"}},
		"another between": {append(oscillating("a", 2, 10, 1), fault("a", "pause", 11, 11), fault("a", "clock -1h", 12, 12)), []string{"3 × clock", "pause"}},
	} {
		marks, _ := labelled(c.faults, at, 0, 800)
		var got []string
		for _, m := range marks {
			got = append(got, m.label)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestLabelsDoNotOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var faults []Fault
		for range rapid.IntRange(0, 120).Draw(t, "faults") {
			from := rapid.Float64Range(0, 800).Draw(t, "from")
			faults = append(faults, fault("", rapid.SampledFrom([]string{"kill -9", "clock -1h", "cut off", "pause", "disk full for longer than anybody likes"}).Draw(t, "kind"), from, from+rapid.Float64Range(0, 50).Draw(t, "long")))
		}
		faults = sorted(faults)
		marks, rows := labelled(faults, func(f Fault) (float64, float64) {
			return float64(f.At-start) / 1e9, min(float64(f.Until-start)/1e9, 800)
		}, 0, 800)
		if rows > mostRows {
			t.Fatalf("%d rows", rows)
		}
		n := 0
		for i, m := range marks {
			n += len(m.faults)
			if m.row >= rows || m.text < 0 || m.text+width(m.label, labelSize) > 800.001 {
				t.Fatalf("%q lies outside: row %d, from %g", m.label, m.row, m.text)
			}
			for _, o := range marks[:i] {
				if o.row == m.row && o.text < m.text+width(m.label, labelSize) && m.text < o.text+width(o.label, labelSize) {
					t.Fatalf("%q at %g and %q at %g overlap in row %d", o.label, o.text, m.label, m.text, m.row)
				}
			}
		}
		if n != len(faults) {
			t.Fatalf("%d of %d faults have a label", n, len(faults))
		}
	})
}

func TestSummaryHasASignForEachDrill(t *testing.T) {
	drills := several()
	drills[1].Failed, drills[2].Violations = "x", 1
	counts, words := elements(t, Summary(drills, drills[3]))
	if good, bad := counts["circle fw-ok"], counts["rect fw-bad"]; good != len(drills)-2 || bad != 2 {
		t.Errorf("%d good and %d bad of %d", good, bad, len(drills))
	}
	for _, want := range []string{"1 violation", "4 of 6 drills passed", "leader-killed on etcd"} {
		if !strings.Contains(words, want) {
			t.Errorf("does not say %q", want)
		}
	}
	elements(t, Summary(nil, Drill{}))
}

func TestPage(t *testing.T) {
	drills := several()
	render := func() string {
		var b strings.Builder
		err := Write(&b, Run{When: time.Unix(1e9, 0), Took: time.Minute, Seed: "8123" + nasty, Commit: "abc" + nasty, Cores: 2, Versions: []string{"etcd 3" + nasty}, Drills: drills})
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	good := render()
	for _, want := range []string{"<h1>All is well: 0 violations</h1>", "6 drills, 61 faults", "2001-09-09 01:46 UTC", "2 cores", "seed 8123", "abc", "etcd 3"} {
		if !strings.Contains(good, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := strings.Count(good, "<svg "); n != len(drills) {
		t.Errorf("%d pictures for %d drills", n, len(drills))
	}
	drills[0].Failed = "no IDs" + nasty
	drills[1].Figures = []Figure{{nasty, "120 ms" + nasty, "100 ms" + nasty, false}}
	if failed := render(); !strings.Contains(failed, "<h1>1 drill failed, 0 violations</h1>") || !strings.Contains(failed, "1 figure missed") {
		t.Error("the page does not say what failed and what was missed")
	}
	drills[2].Violations, drills[2].Examples = 3, []string{nasty, "ID 17 twice"}
	drills[3].Name, drills[3].Coordinator, drills[3].What = nasty, nasty, nasty
	bad := render()
	if !strings.Contains(bad, "<h1>3 violations</h1>") || !strings.Contains(bad, "ID 17 twice") {
		t.Error("the page does not say what was violated")
	}
	// What would be asked of elsewhere, or run, is nowhere; SVG's name is no reference.
	for _, page := range []string{good, bad} {
		page = strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, "")
		for _, never := range []string{"<script", "http:", "https:", "src=", "url(", "@import", "<link", "onload", "\x00"} {
			if strings.Contains(page, never) {
				t.Errorf("there is %q in the page", never)
			}
		}
	}
	drills = nil
	if none := render(); !strings.Contains(none, "No drill was run") || strings.Contains(none, "All is well") {
		t.Error("a run of nothing looks well")
	}
}

func TestWritersErrors(t *testing.T) {
	if err := Write(full{}, Run{}); err == nil {
		t.Error("a page that could not be written is no error")
	}
	if err := Table(full{}, nil); err == nil {
		t.Error("a table that could not be written is no error")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no space") }
