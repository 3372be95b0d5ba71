// Package instant reads times as people write them.
package instant

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const wantedTime = "write 2026-05-01T12:00:00Z, 2026-05-01, now, or -1h for an hour ago"

// Parse reads a time: RFC 3339, the same without a zone (UTC), a date (midnight UTC), "now", or a
// span with its sign, which is relative to now, as in -1h and +7d.
func Parse(text string, now func() time.Time) (time.Time, error) {
	if text == "now" {
		return now(), nil
	}
	if span, ok := relative(text); ok {
		return now().Add(span), nil
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: %s", text, wantedTime)
}

// relative reads a span with its sign, in the units of time.ParseDuration or in days of 24 hours.
func relative(text string) (time.Duration, bool) {
	if !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "+") {
		return 0, false
	}
	if digits, days := strings.CutSuffix(text, "d"); days {
		n, err := strconv.ParseInt(digits, 10, 64)
		const most = int64(1<<63-1) / int64(24*time.Hour)
		return time.Duration(n) * 24 * time.Hour, err == nil && -most <= n && n <= most
	}
	span, err := time.ParseDuration(text)
	return span, err == nil
}
