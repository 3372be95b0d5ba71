// Package must is for the steps that a test only builds on: where one fails, the test ends.
package must

import (
	"errors"
	"fmt"
	"time"
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

// Eventually tries until there is no error, and ends the test with the last one after two minutes.
func Eventually(t T, what string, try func() error) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(2 * time.Minute); ; <-again.C {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(what+":", err)
		}
	}
}

// Soon waits until something is so, and ends the test with a message if that takes a minute, which
// is far longer than anything that is waited for takes on a busy machine.
func Soon(t T, is func() bool, format string, args ...any) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(time.Minute); !is(); <-look.C {
		if time.Now().After(end) {
			t.Fatal("not within a minute: " + fmt.Sprintf(format, args...))
		}
	}
}
