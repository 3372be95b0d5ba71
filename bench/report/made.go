package report

import (
	"fmt"
	"slices"
)

// counts is how many rounds figures and plots are made of, rising. What is computed from other
// figures, or was not measured here, has none.
func counts(figures []Figure, plots []Plot) (all []int) {
	for _, f := range figures {
		if len(f.Ours) > 0 && !f.Derived {
			all = append(all, len(f.Ours))
		}
	}
	for _, p := range plots {
		if p.Rounds > 0 {
			all = append(all, p.Rounds)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// made says how many rounds something is made of: 7, or 1 to 7; nothing if there are none.
func made(counts []int) string {
	switch len(counts) {
	case 0:
		return ""
	case 1:
		return fmt.Sprint(counts[0])
	}
	return fmt.Sprintf("%d to %d", counts[0], counts[len(counts)-1])
}

// madeOf is that as a sentence.
func madeOf(counts []int) string {
	switch text := made(counts); text {
	case "":
		return ""
	case "1":
		return "Measured once."
	default:
		return "Medians of " + text + " rounds."
	}
}
