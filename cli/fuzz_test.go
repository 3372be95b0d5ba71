package cli

import (
	"slices"
	"strings"
	"testing"
)

// FuzzValues: a value of a flag that is taken prints to what is read back to the same, and one that
// is refused changes nothing.
func FuzzValues(f *testing.F) {
	for _, text := range []string{"3s", "-1h", "9223372036s", "0660", "0o777", "1777", "00000000660", "true", "false", "1ms", "100ms", "1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		span, mode := duration(7), fileMode(0o640)
		again, modeAgain := duration(0), fileMode(0)
		if err := span.Set(text); err != nil && span != 7 || err == nil && (again.Set(span.String()) != nil || again != span) {
			t.Errorf("%q is %v, %v, and that %v", text, &span, err, &again)
		}
		if err := mode.Set(text); err != nil && mode != 0o640 || err == nil && (modeAgain.Set(mode.String()) != nil || modeAgain != mode || mode > 0o777) {
			t.Errorf("%q is %v, %v, and that %v", text, &mode, err, &modeAgain)
		}
	})
}

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
