package main

import (
	"bytes"
	"strings"
	"testing"
)

func exitAt(function string, line int, text string, count uint64) *exit {
	return &exit{function: function, file: "m/a/b.go", line: line, text: text, count: count}
}

func TestReport(t *testing.T) {
	rows := func(last uint64) []row {
		return []row{
			{"f", "m/a/b.go", 3, []*exit{exitAt("f", 4, "return err", 9), exitAt("f", 6, "return g()", 2)}},
			{"g", "m/a/b.go", 9, []*exit{exitAt("g", 10, "return never", last)}},
			{"h", "m/a/b.go", 12, nil},
		}
	}
	listed := map[exception]string{{"g", "return never"}: "it has no way to fail"}
	for name, tt := range map[string]struct {
		tables []found
		says   []string
		err    string // empty: none
	}{
		"all taken": {
			[]found{{table{pkg: "a", title: "T"}, rows(5)}},
			[]string{"a: T\n", "f         b.go:3  2/2    ", "2 times, line 6\n", "1/1", "(functions that return no error: 1)", "\n3 of 3 error returns taken\n"}, "",
		},
		"one not": {
			[]found{{table{pkg: "a"}, rows(0)}},
			[]string{"0/1    0 times, line 10\n", "NOT TAKEN: a/b.go:10: g: return never\n", "\n2 of 3 error returns taken\n"}, "a/b.go:10: g: return never",
		},
		"one not, further": {
			[]found{{table{pkg: "c"}, rows(5)}, {table{pkg: "a", further: true}, rows(0)}},
			[]string{"NOT TAKEN: a/b.go:10: g: return never\n", "\n3 of 3 error returns taken\n"}, "",
		},
		"one not, listed": {
			[]found{{table{pkg: "a", exceptions: listed}, rows(0)}},
			[]string{"cannot be taken: a/b.go:10: g: return never\n    it has no way to fail\n", "\n2 of 3 error returns taken\n"}, "",
		},
		"taken, and listed": {
			[]found{{table{pkg: "a", exceptions: listed}, rows(1)}},
			[]string{"WRONG: a: g: return never: it is listed", "\n3 of 3 error returns taken\n"}, "a: g: return never: it is listed",
		},
		"elsewhere": {
			[]found{{table{pkg: "a", elsewhere: map[string]string{"disk": "a toy"}}, rows(1)}},
			[]string{"in the place of disk there is a toy"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := report(&out, tt.tables)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			for _, says := range tt.says {
				if !strings.Contains(out.String(), says) {
					t.Errorf("it does not say %q:\n%s", says, out.String())
				}
			}
		})
	}
}
