package issue_test

import (
	"flag"
	"os"
	"testing"
)

// Properties of this package are checked often, also in short mode, of which rapid does a fifth: it
// takes seconds, and with fewer some bugs show in one run and not in the next.
func TestMain(m *testing.M) {
	flag.Parse()
	checks := "400"
	if testing.Short() {
		checks = "2000"
	}
	if flag.Lookup("rapid.checks").Value.String() == flag.Lookup("rapid.checks").DefValue {
		_ = flag.Set("rapid.checks", checks)
	}
	os.Exit(m.Run())
}
