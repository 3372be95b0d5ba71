package cli

import (
	"slices"
	"strings"
	"testing"
)

// FuzzWords: no word of a command line is lost or made up when flags are put first.
func FuzzWords(f *testing.F) {
	f.Add("flakeward next 1000 --run --socket /x")
	f.Add("flakeward cluster --begin 5m raise -- --to")
	f.Add("flakeward status --cluster -")
	f.Add("flakeward cluster marks --js")
	f.Add("flakeward de")
	f.Add("flakeward next 5 --tenant 3 --run")
	f.Fuzz(func(t *testing.T, line string) {
		commands := newProgram(ownPaths(), realOutside(nil)).app.Commands
		words := strings.Split(line, " ")
		ordered := flagsFirst(commands, slices.Clone(words))
		if !slices.Equal(slices.Sorted(slices.Values(ordered)), slices.Sorted(slices.Values(words))) {
			t.Errorf("%q became %q", words, ordered)
		}
		if again := flagsFirst(commands, slices.Clone(ordered)); !slices.Equal(again, ordered) {
			t.Errorf("%q became %q, and that %q", words, ordered, again)
		}
	})
}
