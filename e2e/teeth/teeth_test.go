package main

import (
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/internal/tooth"
)

// TestEachPatchFits: a patch that does not fit the source any more, or does not compile, breaks nothing.
func TestEachPatchFits(t *testing.T) {
	teeth, err := load(".", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(teeth) < 5 {
		t.Errorf("there are %d teeth", len(teeth))
	}
	compiler, err := tooth.NewCompiler(t.Context(), filepath.Join("..", ".."), "drill")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range teeth {
		if err := compiler.Check(t.Context(), b); err != nil {
			t.Error(err)
		}
	}
}
