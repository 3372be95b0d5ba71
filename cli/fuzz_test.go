package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// FuzzDecode: each word is an ID that is taken apart, or is complained of with its own text; what
// is printed is what it was.
func FuzzDecode(f *testing.F) {
	f.Add("twitter", tweet+" 0\n-1 x 99999999999999999999")
	f.Add("instagram", "1 9223372036854775807 \xff\x00 +7 0x1")
	f.Fuzz(func(t *testing.T, text, stdin string) {
		layout, err := generator.ParseLayout(text)
		if err != nil {
			return
		}
		out, complaints, err := ask{standIn: someCluster(), stdin: stdin}.run(t, "decode", "--json", "--layout", text, "-")
		good := 0
		for line := range strings.Lines(out) {
			var o struct {
				ID                                   string
				Tick                                 generator.Tick
				Datacenter, Worker, Tenant, Sequence uint64
			}
			if err := json.Unmarshal([]byte(line), &o); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			id, err := layout.Compose(generator.Parts{Tick: o.Tick, Datacenter: o.Datacenter, Worker: o.Worker, Tenant: o.Tenant, Sequence: o.Sequence})
			if err != nil || strconv.FormatInt(id, 10) != o.ID {
				t.Errorf("%s: %s is shown as %s, which is %d, %v", layout, o.ID, line, id, err)
			}
			good++
		}
		wrong := strings.Count(complaints, "flakeward: word ")
		if words := len(strings.Fields(stdin)); good+wrong != words && (err == nil || !strings.Contains(err.Error(), "standard input, after word")) {
			t.Errorf("%d words gave %d IDs and %d complaints", words, good, wrong)
		}
		if (wrong > 0) != (err != nil) && len(stdin) < maxWord {
			t.Errorf("%d complaints, and it ends with %v", wrong, err)
		}
	})
}

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

// FuzzSettings: a setting means the same as a flag, as a variable and in a file; what is refused is
// refused for its name.
func FuzzSettings(f *testing.F) {
	known := settingNames()
	for i, name := range known {
		f.Add(uint8(i), others[name])
	}
	for _, value := range []string{"", "x", "-1", "1h", "99999999999999999999", "true", "yes", " 7", "0x10", "a,b", "~", "!!str 1"} {
		f.Add(uint8(slices.Index(known, "ttl")), value)
		f.Add(uint8(slices.Index(known, "log-json")), value)
		f.Add(uint8(slices.Index(known, "max-count")), value)
	}
	path := filepath.Join(f.TempDir(), "flakeward.yaml")
	f.Fuzz(func(t *testing.T, which uint8, value string) {
		name := known[int(which)%len(known)]
		if value == "" || !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsGraphic(r) }) {
			return // a variable that is set to nothing is not set, and YAML does not have all characters
		}
		quoted := must.Get(json.Marshal(value))(t)
		must.Do(t, os.WriteFile(path, []byte(name+": "+string(quoted)+"\n"), 0o600))
		byFlag, flagErr := configOf(t, append(base(name), "--"+name+"="+value)...)
		byFile, fileErr := configOf(t, append(base(name), "--config="+path)...)
		t.Setenv(variable(name), value)
		byVariable, variableErr := configOf(t, base(name)...)
		if (flagErr == nil) != (fileErr == nil) || (flagErr == nil) != (variableErr == nil) {
			t.Fatalf("%s %q: as a flag %v; in a file %v; as a variable %v", name, value, flagErr, fileErr, variableErr)
		}
		if flagErr != nil {
			for _, err := range []error{flagErr, fileErr, variableErr} {
				if !strings.Contains(err.Error(), name) && !strings.Contains(err.Error(), variable(name)) {
					t.Errorf("%s %q: the error %q does not name it", name, value, err)
				}
			}
			return
		}
		want := leaves("", reflect.ValueOf(byFlag), map[string]any{})
		for how, config := range map[string]any{"in a file": byFile, "as a variable": byVariable} {
			for leaf, got := range leaves("", reflect.ValueOf(config), map[string]any{}) {
				if !slices.Contains(notSettings, leaf) && !reflect.DeepEqual(got, want[leaf]) {
					t.Errorf("%s %q: %s is %v %s, and %v as a flag", name, value, leaf, got, how, want[leaf])
				}
			}
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

// FuzzRaise: marks are raised to a tick that the layout has and that is not over, or not at all.
func FuzzRaise(f *testing.F) {
	for _, text := range []string{"2026-01-02", "2026-01-01T12:30:00Z", "1h", "-1h", "15m", "now", "292y", "9999-12-31", "2500h"} {
		f.Add(text, false, false)
		f.Add(text, true, true)
	}
	f.Fuzz(func(t *testing.T, text string, by, force bool) {
		s := someCluster()
		args := []string{"cluster", "raise", "--yes", "--to=" + text}
		if by {
			args[3] = "--begin=" + text
		}
		if force {
			args = append(args, "--force")
		}
		_, _, err := ask{standIn: s}.run(t, args...)
		layout := must.Get(generator.ParseLayout(fullLayout))(t)
		raised := 0
		for _, call := range s.calls {
			to, ok := strings.CutPrefix(call, "raise ")
			if !ok {
				continue
			}
			raised++
			if tick, err := strconv.ParseInt(to, 10, 64); err != nil || generator.Tick(tick) < tickAt(0) || generator.Tick(tick) >= layout.MaxTick() {
				t.Errorf("%q: %s", args, call)
			}
		}
		if raised > 1 || (raised == 1) != (err == nil) {
			t.Errorf("%q: raised %d times, and it ends with %v", args, raised, err)
		}
	})
}
