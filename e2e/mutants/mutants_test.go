package main

import (
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/internal/mutant"
)

// TestEachPatchFits: a patch that does not fit the source any more, or does not compile, breaks
// nothing.
func TestEachPatchFits(t *testing.T) {
	mutants, err := load(".", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(mutants) < 5 {
		t.Errorf("there are %d mutants", len(mutants))
	}
	compiler, err := mutant.NewCompiler(t.Context(), filepath.Join("..", ".."), "drill")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range mutants {
		if err := compiler.Check(t.Context(), b); err != nil {
			t.Error(err)
		}
	}
}
