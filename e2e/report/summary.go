package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	summaryColumns = 4
	summaryRow     = 17.0
)

// Summary draws one picture of a whole run, 900 wide and about 300 high: how each drill ended on
// each coordinator, and the timeline of one of them.
func Summary(drills []Drill, shown Drill) string {
	t := sum(drills)
	title := fmt.Sprintf("%s, %s IDs, %s", plural(t.Drills, "drill"), grouped(t.IDs), violations(t.Violations))
	p := plot{drill: shown, lane: 32}
	top := 0.0
	draw := func(d *drawing) (bottom float64) {
		top = verdicts(d, drills, t)
		d.line("fw-grid", 12, top, pictureWidth-12, top, "")
		d.text("fw-text", "start", 12, top+20, 12, true, "One of them: "+shorten(oneLine(shown.Name), 40)+" on "+shorten(oneLine(shown.Coordinator), 20))
		if len(shown.Hosts) == 0 {
			return top + 30
		}
		return p.draw(d, top+28)
	}
	height := draw(new(drawing))
	return document(pictureWidth, height, title, true, func(d *drawing) { draw(d) })
}

// verdicts draws the head line and a list of all drills, with a sign for each coordinator.
func verdicts(d *drawing, drills []Drill, t totals) (bottom float64) {
	var names, coordinators []string
	for _, drill := range drills {
		if !slices.Contains(names, drill.Name) {
			names = append(names, drill.Name)
		}
		if !slices.Contains(coordinators, drill.Coordinator) {
			coordinators = append(coordinators, drill.Coordinator)
		}
	}
	slices.SortFunc(coordinators, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	class := "fw-ok"
	if t.Violated+t.Failed > 0 || t.Drills == 0 {
		class = "fw-bad"
	}
	head := fmt.Sprintf("%s IDs, %s", grouped(t.IDs), violations(t.Violations))
	d.text(class, "start", 12, 27, 19, true, head)
	of := fmt.Sprintf("%s, %s, %d of %d drills passed", plural(len(names), "drill"), plural(t.Faults, "fault"), t.Drills-t.Failed-t.Violated, t.Drills)
	for i, c := range coordinators {
		if i == 0 {
			of += "; left to right: "
		} else {
			of += ", "
		}
		of += shorten(oneLine(c), 20)
	}
	d.text("fw-dim", "end", pictureWidth-12, 26, 11, false, of)
	rows := int(math.Ceil(float64(len(names)) / summaryColumns))
	step := (pictureWidth - 24) / summaryColumns
	for i, name := range names {
		x, y := 12+float64(i/max(rows, 1))*step, 48+float64(i%max(rows, 1))*summaryRow
		for _, c := range coordinators {
			at := slices.IndexFunc(drills, func(d Drill) bool { return d.Name == name && d.Coordinator == c })
			if at >= 0 {
				d.sign(x, y, drills[at])
			}
			x += 15
		}
		room := int((step - 15*float64(len(coordinators)) - 8) / (labelSize * letter))
		d.text("fw-text", "start", x+3, y+10, labelSize, false, shorten(oneLine(name), max(room, 4)))
	}
	return 48 + float64(rows)*summaryRow + 6
}

// sign draws a verdict, 12 by 12: what went well is round and ticked, what did not is square and
// crossed.
func (d *drawing) sign(x, y float64, of Drill) {
	title := escape(of.Name + " on " + of.Coordinator + ": " + of.Verdict().String())
	if of.Verdict() == OK {
		fmt.Fprintf(d, `<g><title>%s</title><circle class="fw-ok" cx="%s" cy="%s" r="6"/><path class="fw-mark" d="M%s %sl2.2 2.4l4-4.6"/></g>`,
			title, num(x+6), num(y+6), num(x+2.9), num(y+6.2))
		return
	}
	fmt.Fprintf(d, `<g><title>%s</title><rect class="fw-bad" x="%s" y="%s" width="12" height="12"/><path class="fw-mark" d="M%s %sl6 6m0-6l-6 6"/></g>`,
		title, num(x), num(y), num(x+3), num(y+3))
}
