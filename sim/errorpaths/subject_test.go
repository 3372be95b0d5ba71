package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// small is a program that takes some of its exits.
var small = map[string]string{
	"go.mod": "module example.org/small\n\ngo 1.26\n",
	"go.sum": "",
	"run/main.go": `package main

import (
	"fmt"
	"os"

	"example.org/small/part"
)

func main() {
	for _, arg := range os.Args[1:] {
		fmt.Println(part.Do(arg))
	}
	if len(os.Args) > 3 {
		os.Exit(3)
	}
}
`,
	"part/part.go": `package part

import "errors"

func Do(what string) error {
	n, err := number(what)
	if err != nil {
		return err
	}
	return double(func() (err error) {
		if n > 3 {
			err = errors.New("too large")
		}
		return
	})
}

func number(what string) (int, error) {
	if what == "" {
		return 0, errors.New("nothing")
	}
	return len(what), check(what)
}

func check(what string) error { return nil }

func double(f func() error) error {
	if err := f(); err != nil {
		return err
	}
	return f()
}

func aside() error { return errors.New("nobody calls it") }
`,
}

// smallSubject is the small program, in a directory of its own.
func smallSubject(t *testing.T) (dir string, s subject) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range small {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, subject{module: "example.org/small", program: "run", tables: []table{{pkg: "part", title: "all of it", roots: []string{"Do"}}}}
}

func TestMeasure(t *testing.T) {
	dir, s := smallSubject(t)
	var said bytes.Buffer
	tables, err := s.measure(dir, t.TempDir(), &said, "a", "abcdef")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, r := range tables[0].rows {
		for _, e := range r.exits {
			got[fmt.Sprintf("%s %d: %s", r.function, e.line, strings.SplitN(e.text, "{", 2)[0])] = e.count
		}
	}
	// Each nil that goes the same way as an error does not count as one.
	for what, want := range map[string]uint64{
		`Do 8: return err`:                           0,
		`Do 10: return double(func() (err error) `:   1,
		`Do 14: return`:                              1,
		`number 20: return 0, errors.New("nothing")`: 0,
		`number 22: return len(what), check(what)`:   0,
		`double 29: return err`:                      1,
		`double 31: return f()`:                      0,
	} {
		if count, ok := got[what]; !ok || count != want {
			t.Errorf("%s: %d times, want %d", what, count, want)
		}
	}
	if len(got) != 7 {
		t.Errorf("%d exits: %v", len(got), got)
	}
	if said.String() != "<nil>\ntoo large\n" {
		t.Errorf("the program says %q: it does something else than it did", said.String())
	}
	var out bytes.Buffer
	if err := report(&out, tables); err == nil || !strings.Contains(out.String(), `NOT TAKEN: part/part.go:20: number: return 0, errors.New("nothing")`) {
		t.Errorf("%v, %s", err, out.String())
	}
}

// A program that fails is measured all the same, and its failure is told.
func TestMeasureOfAFailure(t *testing.T) {
	dir, s := smallSubject(t)
	tables, err := s.measure(dir, t.TempDir(), &bytes.Buffer{}, "a", "b", "c")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || len(tables) != 1 {
		t.Errorf("%v, %v", tables, err)
	}
}

func TestMeasureOfNothing(t *testing.T) {
	for name, change := range map[string]func(s *subject){
		"a package that is not there":      func(s *subject) { s.tables[0].pkg = "gone" },
		"a function that is not there":     func(s *subject) { s.tables[0].roots = []string{"Gone"} },
		"a type elsewhere that is nowhere": func(s *subject) { s.tables[0].elsewhere = map[string]string{"gone": ""} },
	} {
		t.Run(name, func(t *testing.T) {
			dir, s := smallSubject(t)
			change(&s)
			if tables, err := s.measure(dir, t.TempDir(), &bytes.Buffer{}); tables != nil || err == nil || !strings.Contains(strings.ToLower(err.Error()), "gone") {
				t.Errorf("%v, %v", tables, err)
			}
		})
	}
}

func TestProfile(t *testing.T) {
	blocks, err := readProfile(strings.NewReader("mode: atomic\na/b.go:3.1,9.2 4 1\na/b.go:5.10,6.3 1 7\na/c.go:1.1,2.2 1 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[place]uint64{{3, 1}: 1, {5, 9}: 1, {5, 10}: 7, {6, 2}: 7, {6, 3}: 1, {9, 1}: 1} {
		if got, err := countAt(blocks["a/b.go"], at); got != want || err != nil {
			t.Errorf("%v: %d, %v, want %d", at, got, err, want)
		}
	}
	for _, at := range []place{{2, 7}, {9, 2}} {
		if _, err := countAt(blocks["a/b.go"], at); err == nil {
			t.Errorf("%v is in no block", at)
		}
	}
	if _, err := readProfile(strings.NewReader("mode: set\nwhat is this\n")); err == nil {
		t.Error("a profile that is none is read")
	}
}
