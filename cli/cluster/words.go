package cluster

import (
	"fmt"
	"strconv"
	"time"
	"unicode"
)

// Time writes an instant for people: RFC 3339 in UTC, to the millisecond.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Stamp is an instant for JSON, in RFC 3339, or nil for a year that it has no form for.
func Stamp(t time.Time) *string {
	t = t.UTC()
	if year := t.Year(); year < 0 || year > 9999 {
		return nil
	}
	return new(t.Format(time.RFC3339Nano))
}

// seconds is a time span for JSON, exact to the millisecond.
func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// Span writes a time span without its sign, with the two units that matter:
// 0.4s, 9m58s, 3h2m, 12d4h.
func Span(d time.Duration) string {
	if d < 0 {
		if d = -d; d < 0 {
			d-- // the most negative one has no opposite
		}
	}
	if d < 9950*time.Millisecond {
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	}
	const day = 24 * time.Hour
	switch d = d.Round(time.Second); {
	case d < time.Hour:
		return d.String()
	case d < 2*day:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
}

// Signed writes a time span with its sign; + is after the clock.
func Signed(d time.Duration) string {
	if d < 0 {
		return "-" + Span(d)
	}
	return "+" + Span(d)
}

// ago says how long ago something was, or how soon it will be.
func ago(age time.Duration) string {
	if age < 0 {
		return "in " + Span(age)
	}
	return Span(age) + " ago"
}

// Plain is a text of others, such as a host's name, for a table: it may not move
// the cursor, nor be mistaken for nothing.
func Plain(s string) string {
	if s == "" {
		return "-"
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}

// short is the beginning of a random name, enough to tell two apart.
func short(s string) string {
	const enough = 8
	if runes := []rune(s); len(runes) > enough {
		s = string(runes[:enough])
	}
	return Plain(s)
}

// count writes how many things there are.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
