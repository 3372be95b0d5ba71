package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

const (
	pictureWidth = 900.0
	plotLeft     = 104.0
	plotRight    = 876.0
	hostHeight   = 54.0 // of a host's lane, without its labels
	between      = 12.0 // lanes
)

// Timeline draws a drill as SVG, 900 wide and as high as it takes: a lane for each host with the
// IDs per second that its clients received, all on one scale, with faults marked and stalls shaded;
// below them a lane for each member of the coordinator that something was done to; on the x axis
// seconds from the drill's beginning.
func Timeline(d Drill) string { return timeline(d, true) }

func timeline(d Drill, withStyle bool) string {
	p := plot{drill: d, lane: hostHeight}
	height := p.draw(new(drawing), 8)
	title := fmt.Sprintf("%s on %s: IDs per second on each host, faults and stalls", d.Name, d.Coordinator)
	return document(pictureWidth, height, title, withStyle, func(out *drawing) { p.draw(out, 8) })
}

// plot is one timeline. Drawn twice, the first time it only tells its height.
type plot struct {
	drill Drill
	lane  float64 // a host's lane's height
}

// x is where an instant lies.
func (p plot) x(at evidence.Mono) float64 {
	span := float64(p.drill.Ended - p.drill.Began)
	if span <= 0 {
		return plotLeft
	}
	return plotLeft + (plotRight-plotLeft)*min(max(float64(at-p.drill.Began)/span, 0), 1)
}

func (p plot) draw(out *drawing, y float64) (bottom float64) {
	var all []Fault
	members, hosts := map[string][]Fault{}, map[string][]Fault{}
	for _, f := range sorted(p.drill.Faults) {
		switch {
		case f.Host == "":
			all = append(all, f)
		case slices.ContainsFunc(p.drill.Hosts, func(l Line) bool { return l.Host == f.Host }):
			hosts[f.Host] = append(hosts[f.Host], f)
		default:
			members[f.Host] = append(members[f.Host], f)
		}
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)

	// What was done to all comes first, so that it lies behind the lanes: their height has to be
	// known.
	top := y
	marks, rows := p.marks(all)
	y += float64(rows) * labelRow
	lanes := func(out *drawing) (bottom float64) {
		at := y
		for _, l := range p.drill.Hosts {
			at = p.host(out, at, l, hosts[l.Host]) + between
		}
		for _, name := range names {
			at = p.member(out, at, name, members[name]) + between/2
		}
		return at - between/2
	}
	bottom = lanes(new(drawing))
	p.bands(out, marks, y, bottom)
	y = lanes(out)
	p.lines(out, marks, top, y)
	return p.axis(out, y)
}

// marks lays out the faults of one lane.
func (p plot) marks(faults []Fault) ([]mark, int) {
	return labelled(faults, func(f Fault) (float64, float64) { return p.x(f.At), p.x(f.Until) }, plotLeft, plotRight)
}

// bands draws what took a while, and one band behind each group of instants.
func (p plot) bands(out *drawing, marks []mark, top, bottom float64) {
	for _, m := range marks {
		instants := 0
		for _, f := range m.faults {
			if f.Until > f.At {
				out.rect("fw-band", p.x(f.At), top, max(p.x(f.Until)-p.x(f.At), 1.5), bottom-top, p.told(f))
			} else {
				instants++
			}
		}
		if instants > 1 {
			out.rect("fw-band", m.from, top, max(m.to-m.from, 1.5), bottom-top, "")
		}
	}
}

// lines draws the beginnings of faults, from each label's row at top down, and the labels.
func (p plot) lines(out *drawing, marks []mark, top, bottom float64) {
	for _, m := range marks {
		row := top + float64(m.row)*labelRow
		for i, f := range m.faults {
			from, title := row+2, ""
			if i > 0 {
				from = bottom - 8 // the others of a group are small marks, or they would be a wall
			}
			if f.Until <= f.At {
				title = p.told(f)
			}
			out.line("fw-at", p.x(f.At), from, p.x(f.At), bottom, title)
		}
	}
	for _, m := range marks {
		out.text("fw-kind", "start", m.text, top+float64(m.row)*labelRow+10, labelSize, false, m.label)
	}
}

// told is what is shown when the mouse rests on a fault.
func (p plot) told(f Fault) string {
	who := f.Host
	if who == "" {
		who = "all"
	}
	s := fmt.Sprintf("%s: %s at %.1f s", who, f.Kind, float64(f.At-p.drill.Began)/1e9)
	if f.Until > f.At {
		s += ", for " + lasting(time.Duration(f.Until-f.At))
	}
	return s
}

func (p plot) host(out *drawing, y float64, l Line, faults []Fault) (bottom float64) {
	marks, rows := p.marks(faults)
	top := y
	y += float64(rows)*labelRow + 2
	bottom = y + p.lane
	scale := p.scale()
	out.text("fw-text", "start", 12, y+p.lane/2+4, 12, true, shorten(oneLine(l.Host), 9))
	for i, at := range []float64{y, y + p.lane/2} {
		out.line("fw-grid", plotLeft, at, plotRight, at, "")
		out.text("fw-dim", "end", plotLeft-6, at+4, 10, false, short(scale*(1-float64(i)/2)))
	}
	p.bands(out, marks, y, bottom)
	if path := p.area(l, bottom, scale); path != "" {
		out.WriteString(`<path class="fw-ids" d="` + path + `"/>`)
	} else {
		out.text("fw-dim", "middle", (plotLeft+plotRight)/2, y+p.lane/2+4, 11, false, "no IDs")
	}
	out.line("fw-base", plotLeft, bottom, plotRight, bottom, "")
	out.text("fw-dim", "end", plotLeft-6, bottom+3, 10, false, "0")
	p.lines(out, marks, top, bottom)
	p.stalls(out, l, y, bottom)
	return bottom
}

func (p plot) member(out *drawing, y float64, name string, faults []Fault) (bottom float64) {
	marks, rows := p.marks(faults)
	// The lane is nothing but marks, so the labels lie in it.
	bottom = y + float64(rows)*labelRow + 1
	out.text("fw-dim", "start", 12, (y+bottom)/2+4, 11, false, shorten(oneLine(name), 13))
	p.bands(out, marks, y, bottom)
	out.line("fw-base", plotLeft, bottom, plotRight, bottom, "")
	p.lines(out, marks, y, bottom)
	return bottom
}

// rates returns a line's IDs per second, in columns of at least two units of width; whole buckets
// make a column.
func (p plot) rates(l Line) (rates []float64, column time.Duration) {
	span := time.Duration(p.drill.Ended - p.drill.Began)
	if l.Every <= 0 || span <= 0 || len(l.IDs) == 0 {
		return nil, 0
	}
	n := int(max(1, math.Ceil(float64(len(l.IDs))*2/(plotRight-plotLeft))))
	column = time.Duration(n) * l.Every
	for i := 0; i < len(l.IDs); i += n {
		var ids uint64
		for _, in := range l.IDs[i:min(i+n, len(l.IDs))] {
			ids += uint64(in)
		}
		// The last column may be cut short. One that is cut to almost nothing would show noise.
		lasts := min(column, span-time.Duration(i)*l.Every)
		rates = append(rates, float64(ids)/max(lasts, column/4, 1).Seconds())
	}
	return rates, column
}

// scale returns the top of the y axis: the next round number to the highest rate.
func (p plot) scale() float64 {
	highest := 0.0
	for _, l := range p.drill.Hosts {
		rates, _ := p.rates(l)
		for _, r := range rates {
			highest = max(highest, r)
		}
	}
	for unit := 1.0; ; unit *= 10 {
		for _, n := range []float64{1, 2, 3, 4, 6, 8} {
			if highest <= n*unit {
				return n * unit
			}
		}
	}
}

func (p plot) area(l Line, bottom, scale float64) string {
	var b strings.Builder
	rates, column := p.rates(l)
	before := 0.0
	for i, r := range rates {
		if r == before {
			continue
		}
		x := num(p.x(p.drill.Began + evidence.Mono(i)*evidence.Mono(column)))
		if b.Len() == 0 {
			b.WriteString("M" + x + " " + num(bottom))
		}
		b.WriteString("H" + x + "V" + num(bottom-p.lane*r/scale))
		before = r
	}
	if b.Len() == 0 {
		return ""
	}
	b.WriteString("H" + num(p.x(p.drill.Ended)) + "V" + num(bottom) + "Z")
	return b.String()
}

// stalls shades those that are wide enough to be seen, and always the longest.
func (p plot) stalls(out *drawing, l Line, top, bottom float64) {
	if len(l.Stalls) == 0 {
		return
	}
	order := slices.SortedStableFunc(slices.Values(l.Stalls), func(a, b Span) int { return int(min(max(b.Length()-a.Length(), -1), 1)) })
	longest := order[0].Length()
	var taken [][2]float64
	for i, s := range order {
		from, to := p.x(s.From), p.x(s.To)
		if i > 0 && to-from < 0.5 {
			break
		}
		out.rect("fw-stall", from, top, max(to-from, 1.5), bottom-top, fmt.Sprintf("%s: no answer for %s from %.1f s on", l.Host, lasting(s.Length()), float64(s.From-p.drill.Began)/1e9))
		text := lasting(s.Length())
		w := width(text, labelSize)
		x := max(plotLeft, min((from+to-w)/2, plotRight-w))
		room := !slices.ContainsFunc(taken, func(t [2]float64) bool { return x < t[1]+6 && t[0] < x+w+6 })
		if room && s.Length() >= longest/10 {
			taken = append(taken, [2]float64{x, x + w})
			out.rect("fw-back", x-2, top+p.lane/2-6, w+4, 13, "")
			out.text("fw-long", "start", x, top+p.lane/2+4, labelSize, false, text)
		}
	}
}

// axis draws the x axis and the key below it.
func (p plot) axis(out *drawing, y float64) (bottom float64) {
	seconds := float64(p.drill.Ended-p.drill.Began) / 1e9
	step := 1.0
	for _, s := range []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400} {
		if step = s; seconds/s <= 16 {
			break
		}
	}
	for seconds/step > 24 {
		step *= 2
	}
	y += 4
	for at := 0.0; at <= seconds; at += step {
		x := p.x(p.drill.Began + evidence.Mono(at*1e9))
		out.line("fw-base", x, y, x, y+4, "")
		out.text("fw-dim", "middle", x, y+15, 10, false, num(at))
	}
	y += 32
	out.text("fw-dim", "end", plotRight, y, 10, false, "seconds")
	x := plotLeft
	for _, k := range []struct{ class, text string }{
		{"fw-ids", "IDs received per second"}, {"fw-band", "fault"}, {"fw-stall", "stall: a client got no answer, and for how long"},
	} {
		out.rect(k.class, x, y-8, 14, 9, "")
		if k.class == "fw-band" {
			out.line("fw-at", x, y-8, x, y+1, "")
		}
		out.text("fw-dim", "start", x+19, y, 10, false, k.text)
		x += 19 + width(k.text, 10) + 18
	}
	return y + 8
}
