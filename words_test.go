package main

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// privateWords were used here for what has a standard word, or a term of the glossary in
// docs/architecture.md.
var privateWords = map[string]string{
	"ailment": "condition", "appetite": "load", "barred": "poisoned", "bell": "notifier", "birth": "sample", "buried": "deleted",
	"bury": "delete", "clogged": "backpressured", "crew": "workers", "disown": "revoke", "disowned": "revoked", "doubts": "writes in doubt",
	"forsake": "revoke", "forsaken": "revoked", "glance": "sample", "hurry": "extend now", "keeper": "holder", "lossy": "volatile",
	"nap": "batching sleep", "naps": "batching sleep", "nolint": "nothing, as no linter that reads it runs",
	"parked": "suspended", "patience": "timeout", "patient": "timeout", "rouse": "wake", "seam": "error path", "seams": "error paths", "seat": "preference key",
	"puller": "client", "pullers": "clients", "seats": "preference keys", "stretch": "interval", "strobe": "oscillation", "teeth": "mutants", "tenure": "holder interval", "testify": "record",
	"testimony": "evidence", "ticket": "order", "tickets": "orders", "tooth": "mutant", "torture": "stress", "untaken": "pending", "visited": "inspected", "visitor": "operator",
}

var (
	// wordPart is a part of an identifier, or a word of prose.
	wordPart  = regexp.MustCompile(`[A-Z]?[a-z]+`)
	zooKeeper = regexp.MustCompile(`(?i)zookeeper`)
)

func TestStandardWords(t *testing.T) {
	must.Do(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() { // drills leave sockets behind
			if d != nil && d.IsDir() && path != "." && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return err
		}
		switch filepath.Ext(path) {
		case "": // Makefile, scripts
		case ".go", ".md", ".pml", ".proto", ".sh", ".yaml", ".html", ".js":
		default:
			return nil
		}
		if path == "words_test.go" {
			return nil
		}
		text := readFile(t, path)
		if strings.Contains(text, "\x00") { // a program that make built
			return nil
		}
		for i, line := range strings.Split(text, "\n") {
			for _, word := range wordPart.FindAllString(zooKeeper.ReplaceAllString(line, ""), -1) {
				if standard, private := privateWords[strings.ToLower(word)]; private {
					t.Errorf("%s:%d says %q: the word is %q", path, i+1, word, standard)
				}
			}
		}
		return nil
	}))
}
