package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/bench/report"
)

func linePlot() report.Plot {
	return report.Plot{
		Name: "growth", Title: "Cost & <memory>", X: report.Axis{Label: "connections", Log: true}, Y: report.Axis{Label: "each", Unit: report.Bytes},
		Lines: []report.Line{
			{Name: "flakeward", X: []float64{1, 10, 100}, Y: []float64{4000, 4100, 4300}, Low: []float64{3900, 4000, 4200}, High: []float64{4200, 4200, 4400}},
			{Name: "Redis", X: []float64{1, 10, 100}, Y: []float64{6000, 6100, 6300}},
		},
	}
}

func barPlot() report.Plot {
	return report.Plot{
		Name: "socket", Title: "Rates", Bars: true, X: report.Axis{Label: "clients x pipeline", Names: []string{"1x1", "50x1"}}, Y: report.Axis{Unit: report.Rate},
		Lines: []report.Line{{Name: "flakeward", Y: []float64{40_000, 100_000}}, {Name: "Redis", Y: []float64{30_000, 90_000}, Low: []float64{20_000, 80_000}, High: []float64{40_000, 99_000}}},
	}
}

// texts are the texts of a picture, which has to be one well-formed document.
func texts(t *testing.T, svg []byte) (found []string) {
	t.Helper()
	in := xml.NewDecoder(bytes.NewReader(svg))
	depth, roots := 0, 0
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth++; depth == 1 {
				roots++
				if token.Name.Local != "svg" {
					t.Errorf("the document is <%s>", token.Name.Local)
				}
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			if s := strings.TrimSpace(string(token)); s != "" {
				found = append(found, s)
			}
		}
	}
	if roots != 1 {
		t.Errorf("%d documents", roots)
	}
	return found
}

func TestSVG(t *testing.T) {
	for _, c := range []struct {
		plot  report.Plot
		shows []string
	}{
		{linePlot(), []string{"Cost & <memory>", "connections", "each", "1", "10", "100", "6 KB", "flakeward", "Redis"}},
		{barPlot(), []string{"Rates", "1x1", "50x1", "40k", "100k", "flakeward", "Redis"}},
	} {
		svg, err := SVG(c.plot)
		if err != nil {
			t.Fatal(err)
		}
		found := texts(t, svg)
		for _, s := range c.shows {
			if !slices.Contains(found, s) {
				t.Errorf("%s does not show %q: %q", c.plot.Name, s, found)
			}
		}
		if again, err := SVG(c.plot); err != nil || !bytes.Equal(again, svg) {
			t.Errorf("%s is drawn in another way the second time: %v", c.plot.Name, err)
		}
		if len(svg) > 20_000 {
			t.Errorf("%s has %d bytes", c.plot.Name, len(svg))
		}
		// Each colour in it has another one for dark pages.
		for rest := string(svg); ; {
			_, after, more := strings.Cut(rest, `:#`)
			if !more {
				break
			}
			rest = after
			if name := after[:6]; isColour(name) && !strings.Contains(string(svg), `fill:#`+name+`"]{`) {
				t.Errorf("%s has the colour %s, which stays the same on dark pages", c.plot.Name, name)
			}
		}
	}
}

// isColour tells the colours of elements from those of the style, which are in small letters.
func isColour(name string) bool {
	return strings.Trim(name, "0123456789ABCDEF") == ""
}

func TestSVGRefuses(t *testing.T) {
	for name, change := range map[string]func(*report.Plot){
		"no lines":                  func(p *report.Plot) { p.Lines = nil },
		"no points":                 func(p *report.Plot) { p.Lines[0] = report.Line{} },
		"x without y":               func(p *report.Plot) { p.Lines[0].X = p.Lines[0].X[:2] },
		"half a spread":             func(p *report.Plot) { p.Lines[0].High = nil },
		"a spread elsewhere":        func(p *report.Plot) { p.Lines[0].High[1] = 1 },
		"0 on logarithmic":          func(p *report.Plot) { p.Lines[0].X[0] = 0 },
		"not a number":              func(p *report.Plot) { p.Lines[1].Y[0] = math.NaN() },
		"without end":               func(p *report.Plot) { p.Lines[1].Y[0] = math.Inf(1) },
		"bars without names":        func(p *report.Plot) { p.Bars = true },
		"bars of no height":         func(p *report.Plot) { *p = barPlot(); p.Lines[0].Y[0] = math.NaN() },
		"bars on a logarithmic one": func(p *report.Plot) { *p = barPlot(); p.Y.Log = true },
	} {
		p := linePlot()
		change(&p)
		if svg, err := SVG(p); err == nil || !strings.Contains(err.Error(), p.Name) {
			t.Errorf("%s: %d bytes and the error %v", name, len(svg), err)
		}
	}
}

// Whatever the values, the marks are few, rise, and enclose them.
func TestMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lo, hi := math.Pow(10, rapid.Float64Range(-12, 12).Draw(t, "lo")), math.Pow(10, rapid.Float64Range(-12, 12).Draw(t, "hi"))
		lo, hi = min(lo, hi), max(lo, hi)
		for name, values := range map[string][]float64{"linear": linear(lo, hi), "logarithmic": logarithmic(lo, hi), "linear below 0": linear(-hi, -lo)} {
			from, to := lo, hi
			if name == "linear below 0" {
				from, to = -hi, -lo
			}
			if n := len(values); n < 2 || n > 26 || !slices.IsSorted(values) || len(slices.Compact(slices.Clone(values))) != n {
				t.Fatalf("%s, %v to %v: %v", name, lo, hi, values)
			}
			slack := 1e-9 * math.Max(math.Abs(from), math.Abs(to))
			if values[0] > from+slack || values[len(values)-1] < to-slack {
				t.Fatalf("%s, %v to %v: %v is too narrow", name, lo, hi, values)
			}
		}
	})
}

func TestMarksAreRound(t *testing.T) {
	for _, c := range []struct {
		got, want []float64
	}{
		{linear(0, 4.2e6), []float64{0, 1e6, 2e6, 3e6, 4e6, 5e6}},
		{linear(0, 10), []float64{0, 2, 4, 6, 8, 10}},
		{linear(0, 0), []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{logarithmic(1, 10_000), []float64{1, 10, 100, 1000, 10_000}},
		{logarithmic(240, 900), []float64{200, 500, 1000}},
		{logarithmic(7, 7), []float64{5, 10}},
		{logarithmic(10, 10), []float64{10, 20}},
	} {
		if !slices.EqualFunc(c.got, c.want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }) {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}

// Whatever the plot, it is drawn as one document or refused.
func TestSVGOfAnything(t *testing.T) {
	usual := rapid.OneOf(rapid.Float64Range(1e-9, 1e9), rapid.Float64Range(1, 2), rapid.SampledFrom([]float64{1, 1e15, 1e-15}))
	odd := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, -1, 1e16, math.Inf(1), math.NaN()}))
	axis := rapid.Custom(func(t *rapid.T) report.Axis {
		return report.Axis{Label: rapid.String().Draw(t, "label"), Unit: rapid.SampledFrom([]report.Unit{report.Number, report.Seconds, "odd"}).Draw(t, "unit"),
			Log: rapid.Bool().Draw(t, "log"), Names: rapid.SliceOfN(rapid.String(), 3, 3).Draw(t, "names")}
	})
	line := rapid.Custom(func(t *rapid.T) report.Line {
		n := rapid.SampledFrom([]int{3, 3, 3, 3, 1, 0}).Draw(t, "points")
		values := rapid.SliceOfN(usual, n, n)
		l := report.Line{Name: rapid.String().Draw(t, "name"), X: values.Draw(t, "x"), Y: values.Draw(t, "y")}
		if n > 0 && rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			l.Y[0] = odd.Draw(t, "value")
		}
		if rapid.Bool().Draw(t, "spread") {
			l.Low, l.High = l.Y, l.Y
		}
		return l
	})
	drawn := 0
	rapid.Check(t, func(t *rapid.T) {
		p := report.Plot{Name: "p", Title: rapid.String().Draw(t, "title"), X: axis.Draw(t, "x"), Y: axis.Draw(t, "y"), Bars: rapid.Bool().Draw(t, "bars"), Lines: rapid.SliceOfN(line, 1, 3).Draw(t, "lines")}
		svg, err := SVG(p)
		if err != nil {
			return
		}
		drawn++
		if !strings.HasPrefix(string(svg), "<svg ") || !strings.HasSuffix(strings.TrimSpace(string(svg)), "</svg>") {
			t.Fatalf("%s", svg)
		}
	})
	if drawn == 0 {
		t.Error("none was drawn")
	}
}
