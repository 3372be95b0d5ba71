package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// grouped writes a number with a comma between thousands.
func grouped(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// short writes a number for where there is little room: 950, 12k, 1.5M.
func short(n float64) string {
	unit := ""
	for _, u := range []string{"k", "M", "G"} {
		if n < 999.5 {
			break
		}
		n, unit = n/1000, u
	}
	if unit == "" || n >= 99.5 {
		return strconv.FormatFloat(n, 'f', 0, 64) + unit
	}
	return strings.TrimSuffix(strconv.FormatFloat(n, 'f', 1, 64), ".0") + unit
}

// lasting writes a duration with three digits or so: 4.2 ms, 150 ms, 12.3 s, 15 min 20 s. What took
// no time is a dash.
func lasting(d time.Duration) string {
	switch ms := float64(d) / 1e6; {
	case d <= 0:
		return "-"
	case ms < 9.95:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 999.5:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 9_995:
		return fmt.Sprintf("%.2f s", ms/1000)
	case ms < 119_950:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	s := int(d.Round(time.Second) / time.Second)
	if s%60 == 0 {
		return fmt.Sprintf("%d min", s/60)
	}
	return fmt.Sprintf("%d min %d s", s/60, s%60)
}

// shorten cuts a text to a number of characters, the last of which then says so.
func shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:max(most-1, 0)]) + "…"
}

// oneLine makes a text one line, so that it cannot break a table.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// plural writes a count and what is counted.
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(uint64(max(n, 0))) + " " + one + "s"
}
