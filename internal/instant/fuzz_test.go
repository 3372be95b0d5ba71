package instant

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzTime: a time that is taken is the one that it is printed as.
func FuzzTime(f *testing.F) {
	for _, text := range []string{"now", "2026-05-01", "2026-05-01T12:00:00Z", "2026-05-01T12:00:00.123456789+02:00", "2026-05-01T12:00:00", "9999-12-31T23:59:59Z", "-1h", "+7d", "-106751d", "-106752d", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		now := func() time.Time { return time.Unix(5, 0) }
		at, err := Parse(text, now)
		if err != nil {
			if !at.IsZero() || !strings.Contains(err.Error(), strconv.Quote(text)) {
				t.Errorf("%q: %v, %v", text, at, err)
			}
			return
		}
		if again, err := Parse(at.Format(time.RFC3339Nano), now); err != nil || !again.Equal(at) {
			t.Errorf("%q is %v, and that %v, %v", text, at, again, err)
		}
	})
}
