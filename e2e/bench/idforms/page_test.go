package idforms_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramsOfThePageGiveItsVectors: the programs in Python that docs/forms.md describes UUIDs
// with give the vectors that it has, which the code gives as well.
func TestProgramsOfThePageGiveItsVectors(t *testing.T) {
	page, err := os.ReadFile("../../../docs/forms.md")
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, block := range strings.Split(string(page), "\n\n    ") {
		code := strings.Split("    "+block, "\n")
		for i, line := range code {
			if text, indented := strings.CutPrefix(line, "    "); indented || line == "" {
				code[i] = text
			} else {
				code = code[:i]
				break
			}
		}
		programs = append(programs, strings.Join(code, "\n"))
	}
	path := filepath.Join(t.TempDir(), "page.py")
	// What does not begin as a program in Python is a command line, or the text before the first.
	programs = only(programs, "import ", "def ")
	if err := os.WriteFile(path, []byte(strings.Join(programs, "\n\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run(t, "/usr/bin/python3", "testdata/vectors.py", path, "../../../docs/forms.md", cluster); out != "11 UUIDs\n" {
		t.Error(out)
	}
}

// only are the programs that begin with one of some words.
func only(programs []string, words ...string) (found []string) {
	for _, p := range programs {
		for _, w := range words {
			if strings.HasPrefix(p, w) {
				found = append(found, p)
			}
		}
	}
	return found
}
