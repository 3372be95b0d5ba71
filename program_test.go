package main

import (
	"os"
	"testing"
)

// asProgram is set for the processes that tests start: there this binary is the program, which
// spares a test the time to link it once more. Tests in e2e/ run the one that users have.
const asProgram = "FLAKEWARD_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	if err := os.Setenv(asProgram, "true"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
