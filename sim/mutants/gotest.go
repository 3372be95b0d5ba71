package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// event is a line of go test -json.
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Output      string
	FailedBuild string
}

// test runs a suite and returns the tests that failed, as package.Test. One that cannot be built is
// an error, and so is an expression that names no test: both would find any break.
func (h hunt) test(ctx context.Context, s suite, overlay string) (failed []string, err error) {
	args := []string{"test", "-json", "-short", "-trimpath", "-buildvcs=false", "-vet=off", "-timeout", "5m", "-overlay=" + overlay}
	if s.run != "" {
		args = append(args, "-run", s.run)
	}
	t := command(ctx, h.root, "go", append(args, s.packages...)...)
	t.Env = append(os.Environ(), "RAPID_NOFAILFILE=true") // they would lie beside the source as it is
	var out, said bytes.Buffer
	t.Stdout, t.Stderr = &out, &said
	ended := t.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	failed, err = failures(&out)
	if err == nil && (ended != nil) != (len(failed) > 0) {
		err = fmt.Errorf("go test %s ended with %v and %d failed tests", strings.Join(s.packages, " "), ended, len(failed))
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, said.String())
	}
	return failed, nil
}

// failures reads what go test -json says: the top-level tests that failed, and packages that did
// without one.
func failures(out io.Reader) (failed []string, err error) {
	found := map[string]bool{}
	byPackage := map[string]bool{}
	events := json.NewDecoder(out)
	var built strings.Builder
	for {
		var e event
		if err := events.Decode(&e); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go test's report cannot be read: %w", err)
		}
		name := path.Base(e.Package)
		switch {
		case e.Action == "build-output":
			built.WriteString(e.Output)
		case e.Action == "build-fail" || e.FailedBuild != "":
			return nil, fmt.Errorf("the tests of %s do not compile, which finds nothing:\n%s", e.Package+e.ImportPath, built.String())
		case e.Action == "output" && strings.Contains(e.Output, "no tests to run"):
			return nil, fmt.Errorf("%s has no test of that name", e.Package)
		case e.Action == "fail" && e.Test != "":
			top, _, _ := strings.Cut(e.Test, "/")
			found[name+"."+top], byPackage[name] = true, true
		case e.Action == "fail" && !byPackage[name]:
			found[name+" as a whole"] = true
		}
	}
	for name := range found {
		failed = append(failed, name)
	}
	slices.Sort(failed)
	return failed, nil
}
