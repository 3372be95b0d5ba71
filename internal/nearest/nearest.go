// Package nearest finds out what a misspelt name may have been meant to be.
package nearest

import "strings"

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
		d := distance(wanted, folded)
		if d <= len(folded)/3 && (!ok || d < best) {
			nearest, best, ok = candidate, d, true
		}
	}
	return nearest, ok
}

// distance is Levenshtein's: how many bytes must be put in, taken out or
// replaced to make a out of b. Row by row, after Wagner and Fischer (1974).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
