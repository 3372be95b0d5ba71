package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/flakeward/flakeward/internal/table"
)

// shown is how many tests and how much of a violation the table has.
const (
	shownTests     = 3
	shownViolation = 110
)

// report prints the table and, below it, what is not as the heads say. It returns whether all is.
func report(w io.Writer, seeds int, findings []finding) (all bool, err error) {
	var rows [][]string
	var wrong []string
	sim, tests, last := 0, 0, uint64(0)
	for _, f := range findings {
		if f.bad != nil {
			wrong = append(wrong, fmt.Sprintf("NO MUTANT: %s: %v", f.name, f.bad))
			rows = append(rows, []string{f.name, "-", "-", "not tried, see below", f.breaks})
			continue
		}
		by := f.by()
		seed := "-"
		if f.seed != 0 {
			seed = fmt.Sprint(f.seed)
			sim++
			last = max(last, f.seed)
		}
		if len(f.failed) > 0 {
			tests++
		}
		rows = append(rows, []string{f.name, seed, names(f.failed), short(f.violated), f.breaks})
		for _, who := range f.missed {
			wrong = append(wrong, fmt.Sprintf("NOT FOUND: %s must be found by: %s", f.name, who))
		}
		for _, who := range f.must {
			if !slices.Contains(by, who) {
				wrong = append(wrong, fmt.Sprintf("NOT FOUND: %s must be found by: %s", f.name, who))
			}
		}
	}
	if err := table.Write(w, []string{"mutant", "seed", "tests or drills that failed", "violated", "breaks"}, rows); err != nil {
		return false, err
	}
	fmt.Fprintf(w, "%d bugs: %d found by the simulation within %d seeds, the last after %d; %d by unit tests or drills; %d not as they must be\n", len(findings), sim, seeds, last, tests, len(wrong))
	for _, line := range wrong {
		fmt.Fprintln(w, line)
	}
	return len(wrong) == 0, nil
}

func names(failed []string) string {
	if len(failed) == 0 {
		return "-"
	}
	text := strings.Join(failed[:min(shownTests, len(failed))], " ")
	if more := len(failed) - shownTests; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func short(violated string) string {
	if violated == "" {
		return "-"
	}
	if r := []rune(violated); len(r) > shownViolation {
		return string(r[:shownViolation-3]) + "..."
	}
	return violated
}
