package draw

import (
	"errors"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/flakeward/flakeward/bench/report"
)

// check returns why a plot cannot be drawn.
func check(p report.Plot) error {
	if len(p.Lines) == 0 {
		return errors.New("it has no lines")
	}
	for _, l := range p.Lines {
		switch {
		case len(l.Y) == 0:
			return fmt.Errorf("%q has no points", l.Name)
		case len(l.Low) != len(l.High) || len(l.Low) != 0 && len(l.Low) != len(l.Y):
			return fmt.Errorf("%q has %d points and the spreads of %d and %d", l.Name, len(l.Y), len(l.Low), len(l.High))
		case p.Bars && (len(l.Y) != len(p.X.Names) || p.Y.Log || p.X.Log):
			return fmt.Errorf("%q has %d bars for %d names, on axes that have to be linear", l.Name, len(l.Y), len(p.X.Names))
		case !p.Bars && len(l.X) != len(l.Y):
			return fmt.Errorf("%q has points of %d and %d values", l.Name, len(l.X), len(l.Y))
		}
		for _, c := range []struct {
			axis   report.Axis
			values []float64
		}{{p.X, l.X}, {p.Y, l.Y}, {p.Y, l.Low}, {p.Y, l.High}} {
			for _, v := range c.values {
				if math.IsNaN(v) || math.Abs(v) > most || v != 0 && math.Abs(v) < 1/most || c.axis.Log && v <= 0 {
					return fmt.Errorf("%q has the value %v on the axis %q", l.Name, v, c.axis.Label)
				}
			}
		}
		for i, y := range l.Y {
			if len(l.Low) > 0 && !(l.Low[i] <= y && y <= l.High[i]) {
				return fmt.Errorf("%q has %v outside of its own spread, %v to %v", l.Name, y, l.Low[i], l.High[i])
			}
		}
	}
	return nil
}

// most is above whatever is measured; ticks of larger values could not be told apart.
const most = 1e15

// scale gives an axis round ends and the marks between them.
func scale(axis *plot.Axis, a report.Axis) {
	axis.Padding = 0
	switch {
	case len(a.Names) > 0:
		var names plot.ConstantTicks
		for i, name := range a.Names {
			names = append(names, plot.Tick{Value: float64(i), Label: name})
		}
		axis.Tick.Marker = names
		axis.Min, axis.Max = min(axis.Min, 0), max(axis.Max, float64(len(a.Names)-1))
	case a.Log:
		axis.Scale = plot.LogScale{}
		values := logarithmic(axis.Min, axis.Max)
		axis.Min, axis.Max = values[0], values[len(values)-1]
		axis.Tick.Marker = marks(values, a.Unit)
	default:
		values := linear(axis.Min, axis.Max)
		axis.Min, axis.Max = values[0], values[len(values)-1]
		axis.Tick.Marker = marks(values, a.Unit)
	}
}

func marks(values []float64, u report.Unit) plot.ConstantTicks {
	var all plot.ConstantTicks
	for _, v := range values {
		all = append(all, plot.Tick{Value: v, Label: label(u, v)})
	}
	return all
}

// label writes a round value. Rates are short: 4M.
func label(u report.Unit, v float64) string {
	if u != report.Rate && u != report.Number {
		return report.Format(u, v)
	}
	for _, s := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(v) >= s.size {
			return report.Format(report.Number, v/s.size) + s.name
		}
	}
	return report.Format(report.Number, v)
}

// linear are round values with equal distances, 0 among them, from at most lo to at least hi.
func linear(lo, hi float64) []float64 {
	lo, hi = min(lo, 0), max(hi, 0)
	if lo == hi {
		hi = 1
	}
	step := roundUp((hi - lo) / 5)
	var values []float64
	for i := math.Floor(lo / step * (1 + 1e-12)); ; i++ {
		values = append(values, i*step)
		if i*step >= hi*(1-1e-12) {
			return values
		}
	}
}

// roundUp is the next 1, 2 or 5 times a power of ten.
func roundUp(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*(1-1e-12) {
			return m * power
		}
	}
	return 10 * power
}

// logarithmic are powers of ten, or, where less than three of them would do, 1, 2 and 5 times
// these, from at most lo to at least hi; both above 0.
func logarithmic(lo, hi float64) []float64 {
	first, last := math.Floor(math.Log10(lo)+1e-12), math.Ceil(math.Log10(hi)-1e-12)
	if first >= last {
		last = first + 1
	}
	var values []float64
	if last-first >= 2 {
		for e := first; e <= last; e++ {
			values = append(values, math.Pow(10, e))
		}
		return values
	}
	for e := first; e <= last; e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if len(values) == 1 && v <= lo*(1+1e-12) {
				values = nil // what came before is below all there is
			}
			values = append(values, v)
			if v >= hi*(1-1e-12) && len(values) > 1 {
				return values
			}
		}
	}
	return values
}

// bar draws the bars of one line.
type bar struct {
	at     func(int) float64
	width  float64 // in the distance of two names
	values []float64
	ink    color.Color
}

// Plot draws the bars from 0.
func (b bar) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, v := range b.values {
		left, right, bottom, top := x(b.at(i)-b.width/2), x(b.at(i)+b.width/2), y(0), y(v)
		c.FillPolygon(b.ink, []vg.Point{{X: left, Y: bottom}, {X: left, Y: top}, {X: right, Y: top}, {X: right, Y: bottom}})
	}
}

// DataRange has 0 in it, from where the bars rise.
func (b bar) DataRange() (xmin, xmax, ymin, ymax float64) {
	for _, v := range b.values {
		ymin, ymax = min(ymin, v), max(ymax, v)
	}
	return b.at(0), b.at(len(b.values) - 1), ymin, ymax
}

// Thumbnail draws the bar's colour for the legend.
func (b bar) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(b.ink, []vg.Point{{X: c.Min.X, Y: c.Min.Y}, {X: c.Min.X, Y: c.Max.Y}, {X: c.Max.X, Y: c.Max.Y}, {X: c.Max.X, Y: c.Min.Y}})
}
