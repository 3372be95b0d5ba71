package main

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
)

// TestANormalBuildHasNoFaults: neither a variable of the drills nor a function that injects faults
// is in the program that ships. The drill's daemon has both, or this would look for the wrong
// names.
func TestANormalBuildHasNoFaults(t *testing.T) {
	for _, tt := range []struct {
		name   string
		build  func(ctx context.Context, dir string) (string, error)
		faults bool
	}{{"normal", process.BuildNormal, false}, {"drill", process.Build, true}} {
		content := must.Get(os.ReadFile(must.Get(tt.build(t.Context(), t.TempDir()))(t)))(t)
		// The names of functions stand in the program for stack traces.
		for _, name := range []string{"FLAKEWARD_DRILL", process.Package + "/internal/fault.", process.Package + "/internal/fault/inject.", process.Package + "/audit/"} {
			if has := bytes.Contains(content, []byte(name)); has != tt.faults {
				t.Errorf("the %s build has %s: %v", tt.name, name, has)
			}
		}
	}
}
