package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flakeward/flakeward/bench/stat"
)

// Format writes a value in a unit: 4,096,000/s, 1.25 ms, 9.8 KB, 14.9%, 12.
func Format(u Unit, v float64) string {
	switch u {
	case Rate:
		return number(v) + "/s"
	case Seconds:
		return scaled(v, []scale{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}})
	case Bytes:
		return scaled(v, []scale{{1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}, {1, "B"}})
	case Share:
		return digits(v*100) + "%"
	}
	return number(v)
}

// number writes a count with commas, and what is below 1000 with three digits.
func number(v float64) string {
	if math.Abs(v) < 999.5 {
		return digits(v)
	}
	return thousands(v)
}

// digits writes a value with three digits that count, fewer if zeros follow.
func digits(v float64) string {
	if v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	after := 2
	if v != 0 {
		after = min(max(2-int(math.Floor(math.Log10(math.Abs(v)))), 0), 9)
	}
	text := strconv.FormatFloat(v, 'f', after, 64)
	if after > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// scale is a unit of a size, in what is measured.
type scale struct {
	size float64
	name string
}

// scaled writes a value in the largest of the units, the last of which is the smallest, in which it
// is 1 or more.
func scaled(v float64, units []scale) string {
	if v == 0 {
		return "0"
	}
	u := units[len(units)-1]
	for _, larger := range units {
		// What would be written as 1000 of a unit is 1 of the next one.
		if math.Abs(v) >= larger.size*0.9995 {
			u = larger
			break
		}
	}
	return digits(v/u.size) + " " + u.name
}

// thousands writes a count with commas: 4,096,000.
func thousands(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// cells are a figure as it is written in a table.
type cells struct{ what, ours, theirs, ratio, target, verdict, note string }

func (f Figure) cells() cells {
	c := cells{what: f.What, verdict: string(f.Verdict()), note: f.Note}
	if f.Target != nil {
		c.target = f.target()
	}
	if f.Absent != "" {
		c.ours = f.Absent
		return c
	}
	if len(f.Ours) > 0 || len(f.Theirs) == 0 || f.Target != nil { // else it is of a peer by itself
		c.ours = f.summary(f.Ours)
	}
	if f.Peer != "" {
		c.theirs = f.Peer + " " + f.summary(f.Theirs)
		if r, err := stat.Ratios(f.Ours, f.Theirs); err == nil {
			c.ratio = fmt.Sprintf("%s (%s to %s)", ratio(r.OfMedians), ratio(r.Min), ratio(r.Max))
		}
	}
	return c
}

func ratio(v float64) string {
	after := 2
	if math.Abs(v) < 0.1 {
		after = 3
	}
	return strconv.FormatFloat(v, 'f', after, 64)
}

// summary is the median, with the spread of the samples if no ratio shows one.
func (f Figure) summary(samples []float64) string {
	if len(samples) == 0 {
		return "unknown"
	}
	if f.Peer != "" && len(f.Ours) > 0 {
		return Format(f.Unit, stat.Median(samples))
	}
	return spread(f.Unit, stat.Median(samples), slices.Min(samples), slices.Max(samples))
}

// spread is a value, and in parentheses the lowest and the highest of what it is the median of, if
// they are written differently.
func spread(u Unit, value, low, high float64) string {
	text, from, to := Format(u, value), Format(u, low), Format(u, high)
	if from == to {
		return text
	}
	return fmt.Sprintf("%s (%s to %s)", text, from, to)
}

func (f Figure) target() string {
	sign := "<= "
	if f.Target.AtLeast {
		sign = ">= "
	}
	if f.Target.Of == OfMost || f.Target.Of == OfLeast {
		sign = "each " + sign
	}
	if f.Target.Of == OfRatio {
		return sign + strconv.FormatFloat(f.Target.Limit, 'g', -1, 64) + " times"
	}
	return sign + Format(f.Unit, f.Target.Limit)
}
