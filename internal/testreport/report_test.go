package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	for _, c := range []struct {
		name          string
		events        string
		commandFailed bool
		last          string
		contains      []string
	}{
		{
			name: "subtests count like tests",
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/one"}
{"Action":"pass","Package":"p","Test":"TestA/one"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Elapsed":1.25}
`,
			last:     "2 passed, 0 failed",
			contains: []string{"ok    p 1.2s"},
		},
		{
			name: "a failed test shows its output and its package is not counted again",
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"a_test.go:1: not so\n"}
{"Action":"fail","Package":"p","Test":"TestA","Elapsed":0.5}
{"Action":"fail","Package":"p","Elapsed":1}
`,
			commandFailed: true,
			last:          "0 passed, 1 failed",
			contains:      []string{"FAIL  p TestA (0.5s)", "      a_test.go:1: not so"},
		},
		{
			name: "a package that does not build is a failure, with what the compiler said",
			events: `{"Action":"build-output","ImportPath":"p [p.test]","Output":"p/x.go:3:1: syntax error\n"}
{"Action":"build-fail","ImportPath":"p [p.test]"}
{"Action":"start","Package":"p"}
{"Action":"fail","Package":"p","Elapsed":0,"FailedBuild":"p [p.test]"}
`,
			commandFailed: true,
			last:          "0 passed, 1 failed",
			contains:      []string{"      p/x.go:3:1: syntax error"},
		},
		{
			name: "tests that the time limit cut off are failures",
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"p","Elapsed":900}
`,
			commandFailed: true,
			last:          "0 passed, 2 failed",
			contains:      []string{"FAIL  p TestA (did not end)", "FAIL  p TestB (did not end)", "      panic: test timed out"},
		},
		{
			name:     "a stream that breaks off hides nothing",
			events:   `{"Action":"run","Package":"p","Test":"TestA"}` + "\n",
			last:     "0 passed, 1 failed",
			contains: []string{"FAIL  p TestA (did not end)"},
		},
		{
			name:          "go test itself fails before the first test",
			events:        "no packages to test\n",
			commandFailed: true,
			last:          "0 passed, 1 failed",
			contains:      []string{"no packages to test"},
		},
		{
			name: "skipped tests are named",
			events: `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`,
			last:     "0 passed, 0 failed",
			contains: []string{"SKIP  p TestA", "1 skipped"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			report := newReport(&out)
			if err := report.read(strings.NewReader(c.events)); err != nil {
				t.Fatal(err)
			}
			report.finish(c.commandFailed)
			report.total()

			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if last := lines[len(lines)-1]; last != c.last {
				t.Errorf("the last line is %q, want %q", last, c.last)
			}
			for _, want := range c.contains {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in\n%s", want, out.String())
				}
			}
		})
	}
}
