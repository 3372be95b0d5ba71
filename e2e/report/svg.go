package report

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// style is of all pictures. Each class begins with fw-, for on the page it is in force everywhere.
// There are no variables in it: not all that shows SVG knows them.
const style = `.fw-bg{fill:#fff}.fw-text{fill:#1f2328}.fw-dim{fill:#59636e}.fw-ok{fill:#1a7f37}.fw-bad{fill:#cf222e}` +
	`.fw-grid{stroke:#d8dee4;stroke-width:1;fill:none}.fw-base{stroke:#8c959f;stroke-width:1;fill:none}.fw-ids{fill:#3b82d0;fill-opacity:.85}` +
	`.fw-band{fill:#e08a00;fill-opacity:.24}.fw-at{stroke:#b35900;stroke-width:1.2}.fw-kind{fill:#8a4600}` +
	`.fw-stall{fill:#c2185b;fill-opacity:.34}.fw-back{fill:#fff;fill-opacity:.82}.fw-long{fill:#99103f}.fw-mark{stroke:#fff;stroke-width:1.8;fill:none}` +
	`.fw-kind{paint-order:stroke;stroke:#fff;stroke-width:3;stroke-linejoin:round}` +
	`@media(prefers-color-scheme:dark){.fw-bg{fill:#0d1117}.fw-text{fill:#e6edf3}.fw-dim{fill:#9198a1}.fw-ok{fill:#3fb950}.fw-bad{fill:#f85149}` +
	`.fw-grid{stroke:#262c36}.fw-base{stroke:#6e7681}.fw-ids{fill:#2f6fc4}` +
	`.fw-band{fill:#e3a008;fill-opacity:.26}.fw-at{stroke:#e3a008}.fw-kind{fill:#f0b94d}` +
	`.fw-stall{fill:#ff5d8f;fill-opacity:.42}.fw-back{fill:#0d1117}.fw-long{fill:#ffa3c0}.fw-mark{stroke:#0d1117}` +
	`.fw-kind{stroke:#0d1117}}`

// letter is how wide a character is at most, on average, in parts of the font's size.
const letter = 0.6

// width is how wide a text is, or a little less.
func width(s string, size float64) float64 { return float64(len([]rune(s))) * size * letter }

// drawing is SVG that is being written.
type drawing struct{ strings.Builder }

// document wraps what body draws.
func document(w, h float64, title string, withStyle bool, body func(*drawing)) string {
	var d drawing
	fmt.Fprintf(&d, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" font-family="system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif">`,
		num(w), num(h), num(w), num(h))
	d.WriteString("<title>" + escape(title) + "</title>")
	if withStyle {
		d.WriteString("<style>" + style + "</style>")
	}
	d.rect("fw-bg", 0, 0, w, h, "")
	body(&d)
	d.WriteString("</svg>\n")
	return d.String()
}

func (d *drawing) rect(class string, x, y, w, h float64, title string) {
	fmt.Fprintf(d, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"%s`, class, num(x), num(y), num(w), num(h), closing("rect", title))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64, title string) {
	fmt.Fprintf(d, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"%s`, class, num(x1), num(y1), num(x2), num(y2), closing("line", title))
}

// text writes at x, y: anchor is start, middle or end.
func (d *drawing) text(class, anchor string, x, y, size float64, bold bool, s string) {
	weight := ""
	if bold {
		weight = ` font-weight="600"`
	}
	fmt.Fprintf(d, `<text class="%s" x="%s" y="%s" font-size="%s"%s text-anchor="%s">%s</text>`, class, num(x), num(y), num(size), weight, anchor, escape(s))
}

func closing(element, title string) string {
	if title == "" {
		return "/>"
	}
	return "><title>" + escape(title) + "</title></" + element + ">"
}

// num writes a coordinate with at most one digit after the point.
func num(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}

// escape makes a text safe anywhere in XML and HTML.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder does not fail
	return b.String()
}
