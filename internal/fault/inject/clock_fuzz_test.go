package inject

import (
	"strings"
	"testing"
)

// FuzzOffset: what is taken is a duration within the clock's range, and prints to what is read back
// to the same; all else is an error that names the file.
func FuzzOffset(f *testing.F) {
	for _, content := range []string{"", "-1h\n", "+1s", "876000h", "876001h", "1", "9223372036854775807ns", strings.Repeat("1h", 40)} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		offset, present, err := parseOffset("/the/file", content)
		if err != nil {
			if offset != 0 || present || !strings.Contains(err.Error(), "/the/file") || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%q: %v, %v, %v", content, offset, present, err)
			}
			return
		}
		if present != (strings.TrimSpace(content) != "") || offset > drillLongest || offset < -drillLongest {
			t.Errorf("%q is %v, %v", content, offset, present)
		}
		if again, _, err := parseOffset("", offset.String()); err != nil || again != offset {
			t.Errorf("%q is %v, and that %v, %v", content, offset, again, err)
		}
	})
}
