package configfile

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flakeward/flakeward/internal/must"
)

var names = []string{"socket", "socket-mode", "coord", "window", "publish", "log-json", "host"}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]Value
	}{
		{"empty", "", map[string]Value{}},
		{"comments only", "# nothing\n\n# yet\n", map[string]Value{}},
		{"an empty document", "---\n", map[string]Value{}},
		{
			"values keep their text, whatever YAML takes them for",
			"socket-mode: 0660\nwindow: 10m\nlog-json: true\nhost: \"\"\npublish: '10s'\n",
			map[string]Value{
				"socket-mode": {Text: "0660", Line: 1}, "window": {Text: "10m", Line: 2}, "log-json": {Text: "true", Line: 3},
				"host": {Text: "", Line: 4}, "publish": {Text: "10s", Line: 5},
			},
		},
		{"an anchor", "window: &w 10m\npublish: *w\n", map[string]Value{"window": {Text: "10m", Line: 1}, "publish": {Text: "10m", Line: 2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must.Get(Parse("", []byte(c.text), names))(t)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"an unknown name, with the nearest", "window: 1m\nsocket_mod: 0660\n", `configuration:2: there is no setting "socket_mod": did you mean "socket-mode"?`},
		{"an unknown name, nothing near", "colour: blue\n", `configuration:1: there is no setting "colour": see the sample`},
		{"a name given twice", "window: 1m\n\nwindow: 2m\n", "configuration:3: window is given twice, first in line 1"},
		{"no value", "window:\n", "configuration:1: window has no value"},
		{"a list", "window: [1m]\n", "configuration:1: window takes a single value"},
		{"a mapping", "window:\n  short: 1m\n", "configuration:1: window takes a single value"},
		{"an alias of a list", "host: &x [1]\n", "configuration:1: host takes a single value"},
		{"a list at the top", "- window\n", "configuration:1: not a list of settings"},
		{"a lone word", "window\n", "configuration:1: not a list of settings"},
		{"a mapping for a name", "? {a: b}\n: 1\n", "configuration:1: not the name of a setting"},
		{"a second document", "window: 1m\n---\nhost: a\n", "configuration:2: a second document"},
		{"broken YAML", "window: [1m\n", "no valid YAML"},
		{"a broken second document", "window: 1m\n---\nhost: [\n", "no valid YAML"},
		{"a control character", "host: \x00\n", "no valid YAML"},
	} {
		t.Run(c.name, func(t *testing.T) {
			values, err := Parse("", []byte(c.text), names)
			if err == nil {
				t.Fatalf("taken as %v", values)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %q, want %q in it", err, c.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flakeward.yaml")
	if _, err := Read(path, names); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gives %v", err)
	}

	write(t, path, "window: 3m\n")
	values, err := Read(path, names)
	if err != nil || values["window"].Text != "3m" {
		t.Errorf("got %v, %v", values, err)
	}

	write(t, path, "window: 3m\nwindom: 3m\n")
	_, err = Read(path, names)
	if at := (*Error)(nil); !errors.As(err, &at) || at.Path != path || at.Line != 2 {
		t.Errorf("an unknown name in line 2 of the file gives %v", err)
	}

	write(t, path, "#"+strings.Repeat(" ", MaxSize))
	if _, err = Read(path, names); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a file over the limit gives %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}

// FuzzParse holds any content to this: no panic, an error that says something,
// and only known names with a line that exists.
func FuzzParse(f *testing.F) {
	f.Add([]byte("window: 10m\n"))
	f.Add([]byte("window: &w \" 10m \\n\"\npublish: *w\nhost: ''\nlog-json: |\n  true\n"))
	f.Add([]byte(" a: \n\t"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if utf8.Valid(data) { // as a value it stays what it is
			values, err := Parse("", plain(map[string]Value{"host": {Text: string(data)}}), names)
			if err != nil || values["host"].Text != string(data) {
				t.Errorf("the value %q is read as %+v, %v", data, values, err)
			}
		}
		values, err := Parse("", data, names)
		if err != nil {
			at := (*Error)(nil)
			if !errors.As(err, &at) || at.Err == nil || at.Error() == "" {
				t.Fatalf("an error of another kind: %#v", err)
			}
			return
		}
		for name, value := range values {
			// A lone carriage return, and some others, end a line in YAML too.
			if !slices.Contains(names, name) || value.Line < 1 || value.Line > len(data)+1 {
				t.Errorf("%q = %+v came through", name, value)
			}
		}
		again, err := Parse("", plain(values), names)
		if err != nil || !maps.EqualFunc(again, values, func(a, b Value) bool { return a.Text == b.Text }) {
			t.Errorf("%+v is written as %q, and that read as %+v, %v", values, plain(values), again, err)
		}
	})
}

// plain writes values as YAML that holds nothing else.
func plain(values map[string]Value) []byte {
	var b []byte
	for name, value := range values {
		b = fmt.Appendf(b, "%s: %s\n", quoted(name), quoted(value.Text))
	}
	return b
}

func quoted(s string) string {
	var text strings.Builder
	for _, r := range s {
		fmt.Fprintf(&text, "\\U%08X", r)
	}
	return `"` + text.String() + `"`
}
