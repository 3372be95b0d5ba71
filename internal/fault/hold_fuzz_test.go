//go:build drill

package fault

import (
	"strings"
	"testing"
	"time"
)

// FuzzHold: a drill that is asked for holds at least one Take for some time; all else is an error
// that names the variable.
func FuzzHold(f *testing.F) {
	for _, text := range []string{"", "100/50ms", "1/1ns", "0/1s", "1/-1s", "1", "/", "5000000000/1s", "1/1s/1s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseHold(text)
		switch {
		case err != nil:
			if s != (holding{}) || !strings.Contains(err.Error(), HoldTakes) {
				t.Errorf("%q: %+v, %v", text, s, err)
			}
		case text == "":
			if s.each != 0 {
				t.Errorf("nothing is %+v", s)
			}
		default:
			n, d, _ := strings.Cut(text, "/")
			if long, err := time.ParseDuration(d); s.each < 1 || s.long <= 0 || s.firsts == nil || err != nil || long != s.long || n == "" {
				t.Errorf("%q is %+v", text, s)
			}
		}
	})
}
