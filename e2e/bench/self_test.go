package main

import (
	"os"
	"testing"
)

// TestMain has the test program be the other processes that sections start, as the program itself
// is.
func TestMain(m *testing.M) {
	if isSelf(os.Args[1:]) {
		os.Exit(selfMain(os.Args[1:]))
	}
	os.Exit(m.Run())
}
