package inject

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/internal/must"
)

func put(t *testing.T, path, content string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(content), 0o600))
}

// still is a clock that never lets the follower look by itself.
type still struct{}

func (still) Now() clockguard.Reading { return clockguard.Reading{Wall: 1000, Mono: 7} }
func (still) Sleep(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestWhatTheFileSays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "offset")
	var reports []string
	put(t, path, "5ns")
	d := must.Get(follow(still{}, path, func(err error) { reports = append(reports, err.Error()) }))(t)
	defer d.close()
	for i, tt := range []struct {
		content string // "-": the file is gone
		want    int64  // offset after one look
		reports int    // so far
	}{
		{"5ns", 5, 0},
		{"-7ns \n", -7, 0},
		{"", 0, 0},
		{"3ns", 3, 0},
		{"-", 0, 0},
		{"9ns", 9, 0},
		{"nonsense", 9, 1},
		{"nonsense", 9, 1}, // reported once
		{"9ns", 9, 1},
		{"nonsense", 9, 2}, // and again once it was mended
		{"other", 9, 3},
		{"876001h", 9, 4}, // too far
		{"-876001h", 9, 5},
		{"nonsense", 9, 6}, // again, after others
		{"876000h", int64(876000 * time.Hour), 6},
	} {
		if tt.content == "-" {
			os.Remove(path)
		} else {
			put(t, path, tt.content)
		}
		d.look()
		if got := d.Now(); got != (clockguard.Reading{Wall: 1000 + tt.want, Mono: 7}) || len(reports) != tt.reports {
			t.Fatalf("look %d, at %q: %+v and %d reports, want an offset of %d and %d reports", i, tt.content, got, len(reports), tt.want, tt.reports)
		}
	}
	if !strings.Contains(reports[0], path) || !strings.Contains(reports[0], "nonsense") || !strings.Contains(reports[0], "-1h") {
		t.Errorf("the report %q does not name the file, what it holds and what to write", reports[0])
	}
}
