package generator

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/internal/nearest"
)

// DefaultLayout is the name of the preset to use when none is asked for.
const DefaultLayout = "flakeward"

// maxLayoutText bounds a layout's text, so that an error that quotes it stays
// readable. The longest canonical form is far below.
const maxLayoutText = 256

// ParseLayout reads a layout: the name of a preset ("twitter"), a preset with
// another epoch ("uidgenerator;epoch=2026-01-01"), or the full form
//
//	time=41@1ms,datacenter=5,worker=5,sequence=12;epoch=2010-11-04T01:42:54.657Z
//
// in which the fields are listed from the highest bits down, each once, with
// its width in bits. Time carries the length of a tick as a Go duration of at
// least 1us. Time, worker and sequence are required; datacenter and tenant are
// optional; together they take at most 63 bits. The epoch is an RFC 3339 time,
// with up to nine decimals, or a date (midnight UTC), in the years 1677 to
// 2262. Spaces around names and values do not count. Errors name the field that is wrong.
func ParseLayout(s string) (*Layout, error) {
	if len(s) > maxLayoutText {
		return nil, fmt.Errorf("layout %q...: the text is %d bytes long, at most %d are read", s[:32], len(s), maxLayoutText)
	}
	l, err := parseLayout(s)
	if err != nil {
		return nil, fmt.Errorf("layout %q: %w", s, err)
	}
	return l, nil
}

func parseLayout(s string) (*Layout, error) {
	head, tail, hasTail := cut(s, ";")
	if head == "" {
		return nil, fmt.Errorf("no layout is named: take a preset (%s) or the form time=41@1ms,worker=10,sequence=12;epoch=2026-01-01", presetNames())
	}
	var epoch int64
	if hasTail {
		name, text, ok := cut(tail, "=")
		if !ok || name != "epoch" {
			return nil, fmt.Errorf("%q follows the semicolon: only epoch=... may, such as epoch=2026-01-01", tail)
		}
		var err error
		if epoch, err = parseEpoch(text); err != nil {
			return nil, err
		}
	}
	if !strings.Contains(head, "=") {
		full, ok := presets[head]
		if !ok {
			return nil, fmt.Errorf("no preset has this name: %s", suggest(head, slices.Collect(maps.Keys(presets)), presetNames()))
		}
		if hasTail {
			full, _, _ = strings.Cut(full, ";")
			full += ";" + tail
		}
		return parseLayout(full)
	}
	if !hasTail {
		return nil, fmt.Errorf("the epoch is missing: add it after a semicolon, such as ;epoch=2026-01-01")
	}
	sp := spec{epoch: epoch}
	for text := range strings.SplitSeq(head, ",") {
		f, err := parseField(text, &sp.tick)
		if err != nil {
			return nil, err
		}
		sp.fields = append(sp.fields, f)
	}
	return newLayout(sp)
}

// cut is strings.Cut, without the spaces at the ends of both parts.
func cut(s, separator string) (before, after string, found bool) {
	before, after, found = strings.Cut(s, separator)
	return strings.TrimSpace(before), strings.TrimSpace(after), found
}

// suggest says which name may have been meant, or else which names there are.
func suggest(name string, names []string, all string) string {
	if near, ok := nearest.Name(name, slices.Sorted(slices.Values(names))); ok {
		return fmt.Sprintf("did you mean %q? There are %s", near, all)
	}
	return "there are " + all
}

// parseField reads one "name=bits", and the tick's length after time's "@".
func parseField(text string, tick *time.Duration) (fieldSpec, error) {
	name, value, ok := cut(text, "=")
	if !ok {
		return fieldSpec{}, fmt.Errorf("field %q has no width: write it as name=bits, such as worker=10", text)
	}
	field := Field(-1)
	for f, known := range fieldNames {
		if name == known {
			field = Field(f)
		}
	}
	if field < 0 {
		return fieldSpec{}, fmt.Errorf("field %q is not known: %s", name, suggest(name, fieldNames[:], strings.Join(fieldNames[:], ", ")))
	}
	value, length, hasTick := cut(value, "@")
	switch {
	case field == Time && !hasTick:
		return fieldSpec{}, fmt.Errorf("field time has no tick length: write it as time=bits@tick, such as time=41@1ms")
	case field != Time && hasTick:
		return fieldSpec{}, fmt.Errorf("field %s has a tick length: only time has one", field)
	case hasTick:
		d, err := time.ParseDuration(length)
		if err != nil {
			return fieldSpec{}, fmt.Errorf("field time has the tick length %q: write a duration such as 1ms, 10ms or 1s", length)
		}
		*tick = d
	}
	width, err := strconv.ParseUint(value, 10, 8)
	if err != nil {
		return fieldSpec{}, fmt.Errorf("field %s has the width %q: write a number of bits from 1 to %d", field, value, maxBits)
	}
	return fieldSpec{field: field, width: int(width)}, nil
}

var (
	earliestEpoch = time.Unix(0, math.MinInt64)
	latestEpoch   = time.Unix(0, math.MaxInt64)
)

// parseEpoch reads an RFC 3339 time or a date, as ns since 1970.
func parseEpoch(text string) (int64, error) {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		at, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		return 0, fmt.Errorf("epoch %q is no time: write a date such as 2026-01-01 or a time such as 2010-11-04T01:42:54.657Z", text)
	}
	if _, fraction, ok := strings.Cut(text, "."); ok && strings.TrimLeft(fraction, "0123456789") != "" {
		if digits := len(fraction) - len(strings.TrimLeft(fraction, "0123456789")); digits > 9 {
			return 0, fmt.Errorf("epoch %q has %d decimals: nine are read, down to a nanosecond", text, digits)
		}
	}
	if at.Before(earliestEpoch) || at.After(latestEpoch) {
		return 0, fmt.Errorf("epoch %q is out of range: it must be from %s to %s", text, date(earliestEpoch), date(latestEpoch))
	}
	return at.UnixNano(), nil
}

// String returns the full form of the layout, which is the same for all ways
// to write it. ParseLayout reads it back to an equal layout.
func (l *Layout) String() string {
	var b strings.Builder
	for i, f := range l.order {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s=%d", f, l.width[f])
		if f == Time {
			b.WriteByte('@')
			b.WriteString(formatTick(l.TickLength()))
		}
	}
	b.WriteString(";epoch=")
	b.WriteString(date(l.Epoch()))
	return b.String()
}

// formatTick writes a duration in ASCII and without zero parts: 1us, 10ms, 1h.
func formatTick(d time.Duration) string {
	s := strings.Replace(d.String(), "µ", "u", 1)
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
