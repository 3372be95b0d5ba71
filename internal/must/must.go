// Package must is for the steps that a test only builds on: where one fails, the test ends and says
// why.
package must

import (
	"errors"
	"fmt"
)

// T is a test, a benchmark, or a part of one.
type T interface {
	Helper()
	Fatal(...any)
}

// Do ends the test if a step failed.
func Do(t T, steps ...error) {
	t.Helper()
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
}

// Get is what a step returns, as in
//
//	f := must.Get(os.Open(path))(t)
//
// The test ends if the step failed.
func Get[V any](value V, err error) func(T) V {
	return func(t T) V {
		t.Helper()
		Do(t, err)
		return value
	}
}

// Fail ends the test unless a step failed as it has to here.
func Fail(t T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatal(fmt.Sprintf("ended with %v, want %v", err, want))
	}
}
