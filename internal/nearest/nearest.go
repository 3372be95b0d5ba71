// Package nearest finds out what a misspelt name may have been meant to be.
package nearest

import (
	"strings"

	"github.com/xrash/smetrics"
)

// Name returns the candidate that a misspelt name most likely stands for, if
// one is near enough: at most a third of its letters off, dashes, underscores and
// the case of letters not counted. Of equally near ones the first is taken.
func Name(name string, candidates []string) (nearest string, ok bool) {
	fold := strings.NewReplacer("_", "", "-", "", ".", "", " ", "")
	wanted := fold.Replace(strings.ToLower(name))
	if len(wanted) > 64 { // no setting is that long, and the distance is quadratic
		return "", false
	}
	best := 0
	for _, candidate := range candidates {
		folded := fold.Replace(strings.ToLower(candidate))
		d := smetrics.WagnerFischer(wanted, folded, 1, 1, 1) // in bytes
		if d <= len(folded)/3 && (!ok || d < best) {
			nearest, best, ok = candidate, d, true
		}
	}
	return nearest, ok
}
