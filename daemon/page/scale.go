package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The clock's line: now is in its middle, and an hour at either end. Each decade takes as much room
// as the next, from a tenth of a second on, so that a mark half a second ahead and a ceiling ten
// minutes ahead are both seen to move.
const (
	lineEnd  = time.Hour
	lineUnit = 100 * time.Millisecond
)

// place is where something that far from now is on the line, from 0 to 100.
func place(d time.Duration) float64 {
	decades := func(d time.Duration) float64 { return math.Log10(1 + float64(d)/float64(lineUnit)) }
	away := decades(min(d.Abs(), lineEnd)) / decades(lineEnd) * 50
	if d < 0 {
		away = -away
	}
	return math.Round((50+away)*100) / 100
}

// A text on the line begins, ends, or has its middle at a place, so that it stays within the line.
const (
	begins, ends, centred = "start", "end", "middle"
	margin                = 15 // per cent of the line that half a text may take
)

// anchor centres a text where there is room.
func anchor(x float64) string {
	switch {
	case x < margin:
		return begins
	case x > 100-margin:
		return ends
	}
	return centred
}

// axis is what is written below the line.
var axis = []struct {
	X    float64
	Text string
	Wide bool // where there is room for it
}{
	{place(-lineEnd), "−1 h", false}, {place(-time.Minute), "−1 min", false}, {place(-time.Second), "−1 s", true}, {place(0), "now", false},
	{place(time.Second), "+1 s", true}, {place(time.Minute), "+1 min", false}, {place(lineEnd), "+1 h", false},
}

// chartHeight is that of a chart in its own units. A cell is one unit wide, and the newest is at
// the right end.
const chartHeight = 60

// path is a line through the heights, from 0 to 1, of the newest cells; below 0: there is none. It
// goes down to the base at each end, so that it can be filled, if fill is set.
func path(heights []float64, fill bool) string {
	var b strings.Builder
	up := false
	x := func(i int) int { return cells - len(heights) + i }
	for i, h := range heights {
		switch {
		case h < 0 && up && fill:
			fmt.Fprintf(&b, "L%d %d", x(i), chartHeight)
		case h >= 0 && !up && fill:
			fmt.Fprintf(&b, "M%d %dL%d %s", x(i), chartHeight, x(i), height(h))
		case h >= 0 && !up:
			fmt.Fprintf(&b, "M%d %s", x(i), height(h))
		}
		if up = h >= 0; up {
			fmt.Fprintf(&b, "L%d %s", x(i), height(h))
			if i == len(heights)-1 || heights[i+1] < 0 {
				fmt.Fprintf(&b, "H%d", x(i)+1)
			}
		}
	}
	if up && fill {
		fmt.Fprintf(&b, "V%d", chartHeight)
	}
	return b.String()
}

func height(h float64) string {
	return strconv.FormatFloat(math.Round((1-min(h, 1))*(chartHeight-2)*10)/10+1, 'f', -1, 64)
}

// top is a round number at or above the highest of them, for the upper end of a chart.
func top(highest float64) float64 {
	if highest <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(highest)))
	for _, m := range []float64{1, 2, 5} {
		if highest <= m*power {
			return m * power
		}
	}
	return 10 * power
}

// The ends of the chart of latencies. Each decade is as high as the next.
const (
	shortest = time.Microsecond
	longest  = 10 * time.Second
)

// decades is the height of a duration in the chart of latencies; below 0: there is none.
func decades(d time.Duration) float64 {
	if d <= 0 {
		return -1
	}
	return max(0, math.Log10(float64(d)/float64(shortest))/math.Log10(float64(longest/shortest)))
}

// number writes one for people: with three digits that matter.
func number(v float64) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if v >= unit.of {
			return strconv.FormatFloat(v/unit.of, 'g', 3, 64) + unit.name
		}
	}
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// span writes a duration for people.
func span(d time.Duration) string {
	switch {
	case d <= 0:
		return "–"
	case d < time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Microsecond), 'g', 3, 64) + " µs"
	case d < time.Second:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'g', 3, 64) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'g', 3, 64) + " s"
}
