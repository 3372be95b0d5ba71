package main

import (
	"path/filepath"
	"testing"
)

// TestEachPatchFits: a patch that does not fit the source any more breaks nothing.
func TestEachPatchFits(t *testing.T) {
	teeth, err := load(".", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(teeth) < 5 {
		t.Errorf("there are %d teeth", len(teeth))
	}
	for _, tooth := range teeth {
		if err := tooth.Fits(t.Context(), filepath.Join("..", "..")); err != nil {
			t.Error(err)
		}
	}
}
