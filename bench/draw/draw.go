// Package draw makes pictures of plots: small SVG files that are legible on a light and on a dark
// page and the same each time, whatever the day and the machine.
package draw

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/flakeward/flakeward/bench/report"
)

const (
	width, height = 600 * vg.Length(1), 300 * vg.Length(1)
	margin        = 10 * vg.Length(1)
	groupWidth    = 0.8 // of the bars over one name, in the distance of two names
)

// SVG draws a plot. It is an error if the plot cannot be drawn: if it lacks points, or has some
// that its axes cannot show.
func SVG(p report.Plot) ([]byte, error) {
	if err := check(p); err != nil {
		return nil, fmt.Errorf("the plot %q cannot be drawn: %w", p.Name, err)
	}
	out := plot.New()
	dress(out, p)
	paint := lines
	if p.Bars {
		paint = bars
	}
	if err := paint(out, p); err != nil {
		return nil, fmt.Errorf("the plot %q: %w", p.Name, err)
	}
	scale(&out.X, p.X)
	scale(&out.Y, p.Y)
	if p.Bars {
		out.X.Min, out.X.Max = -0.5, float64(len(p.X.Names))-0.5
	}
	legend := out.Legend
	out.Legend = plot.NewLegend() // drawn beside the plot, not in it
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	all.SetColor(background)
	all.Fill(all.Rectangle.Path())
	area := draw.Crop(all, margin, -margin, margin, -margin)
	beside := legend.Rectangle(area).Size().X * 1.1 // where there is another font, it may be wider
	out.Draw(draw.Crop(area, 0, -beside-margin, 0, 0))
	legend.Draw(draw.Crop(area, area.Size().X-beside, 0, 0, -2*margin))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return finish(b.String(), p.Title), nil
}

var (
	background = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	ink        = color.NRGBA{0x1f, 0x23, 0x28, 0xff}
	pale       = color.NRGBA{0xd8, 0xde, 0xe4, 0xff}
	// inks are those of the lines, in their order.
	inks = []color.NRGBA{{0x09, 0x69, 0xda, 0xff}, {0xcf, 0x22, 0x2e, 0xff}, {0x1a, 0x7f, 0x37, 0xff}, {0x82, 0x50, 0xdf, 0xff}, {0x9a, 0x67, 0x01, 0xff}, {0x6e, 0x77, 0x81, 0xff}}
	// dark are all of the colours as they are on a dark page.
	dark = map[color.NRGBA]string{
		background: "#0d1117", ink: "#e6edf3", pale: "#30363d",
		inks[0]: "#58a6ff", inks[1]: "#ff7b72", inks[2]: "#3fb950", inks[3]: "#bc8cff", inks[4]: "#d29922", inks[5]: "#9198a1",
	}
)

func inkOf(i int) color.NRGBA { return inks[i%len(inks)] }

// sans is a font of the same widths as Arial and Helvetica.
func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func dress(out *plot.Plot, p report.Plot) {
	out.BackgroundColor = nil // that of the whole picture
	out.Title.Text, out.X.Label.Text, out.Y.Label.Text = p.Title, p.X.Label, p.Y.Label
	for _, s := range []struct {
		style *text.Style
		size  vg.Length
	}{{&out.Title.TextStyle, 13}, {&out.X.Label.TextStyle, 11}, {&out.Y.Label.TextStyle, 11}, {&out.X.Tick.Label, 10}, {&out.Y.Tick.Label, 10}, {&out.Legend.TextStyle, 11}} {
		s.style.Font, s.style.Color = sans(s.size), ink
	}
	out.Title.Padding = margin
	for _, axis := range []*plot.Axis{&out.X, &out.Y} {
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = ink, ink
		axis.Tick.Length = 4
		axis.Label.Padding = 4
	}
	out.Legend.Top, out.Legend.Left, out.Legend.Padding = true, true, 4
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = pale, pale
	if p.Bars {
		grid.Vertical.Color = nil
	}
	out.Add(grid)
}

// span is the points of a line with their spreads.
type span struct {
	plotter.XYs
	plotter.YErrors
}

func spread(l report.Line, x func(int) float64) *span {
	if len(l.Low) == 0 {
		return nil
	}
	s := span{XYs: make(plotter.XYs, len(l.Y)), YErrors: make(plotter.YErrors, len(l.Y))}
	for i, y := range l.Y {
		s.XYs[i] = plotter.XY{X: x(i), Y: y}
		s.YErrors[i].Low, s.YErrors[i].High = y-l.Low[i], l.High[i]-y
	}
	return &s
}

func errorBars(out *plot.Plot, s *span, ink color.Color) error {
	if s == nil {
		return nil
	}
	e, err := plotter.NewYErrorBars(s)
	if err != nil {
		return err
	}
	e.Color, e.Width, e.CapWidth = ink, 1, 4
	out.Add(e)
	return nil
}

func lines(out *plot.Plot, p report.Plot) error {
	for i, l := range p.Lines {
		points := make(plotter.XYs, len(l.Y))
		for j := range l.Y {
			points[j] = plotter.XY{X: l.X[j], Y: l.Y[j]}
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, line.Width = inkOf(i), 1.8
		marks.Color, marks.Radius, marks.Shape = inkOf(i), 2.5, draw.CircleGlyph{}
		out.Add(line)
		if len(points) <= 20 { // more would hide the line
			out.Add(marks)
		}
		if err := errorBars(out, spread(l, func(j int) float64 { return l.X[j] }), inkOf(i)); err != nil {
			return err
		}
		out.Legend.Add(l.Name, line)
	}
	return nil
}

func bars(out *plot.Plot, p report.Plot) error {
	each := groupWidth / float64(len(p.Lines))
	for i, l := range p.Lines {
		at := func(name int) float64 { return float64(name) + each*(float64(i)-float64(len(p.Lines)-1)/2) }
		b := bar{at: at, width: each * 0.9, values: l.Y, ink: inkOf(i)}
		out.Add(b)
		if err := errorBars(out, spread(l, at), ink); err != nil {
			return err
		}
		out.Legend.Add(l.Name, b)
	}
	return nil
}

// finish names the picture for those who cannot see it, gives it the fonts and the dark colours,
// and leaves out what every element would repeat.
func finish(svg, title string) []byte {
	_, body, _ := strings.Cut(svg, "<svg ")
	attributes, body, _ := strings.Cut(body, ">")
	for _, r := range [][2]string{
		{"font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", ""},
		{`xmlns:xlink="http://www.w3.org/1999/xlink"`, ""},
		{"\n\t", " "},
	} {
		body, attributes = strings.ReplaceAll(body, r[0], r[1]), strings.ReplaceAll(attributes, r[0], r[1])
	}
	var style strings.Builder
	style.WriteString("text{font-family:'Liberation Sans',Arial,Helvetica,sans-serif}@media(prefers-color-scheme:dark){")
	for _, c := range append([]color.NRGBA{background, ink, pale}, inks...) {
		name := fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)
		for _, kind := range []string{"fill", "stroke"} {
			fmt.Fprintf(&style, `[style*="%s:%s"]{%s:%s!important}`, kind, name, kind, dark[c])
		}
	}
	style.WriteString("}")
	return fmt.Appendf(nil, "<svg %s role=\"img\"><title>%s</title><style>%s</style>%s", strings.TrimSpace(attributes), html.EscapeString(title), style.String(), body)
}
