package daemon_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

func TestTheProtocolPageHasEveryFieldOfINFO(t *testing.T) {
	page := must.Get(os.ReadFile("../docs/protocol.md"))(t)
	_, fields, _ := strings.Cut(string(page), "## The fields of INFO")
	described := make(map[string]bool)
	// Fields have three columns, states have two.
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|[^|]*\\|[^|]*\\|$").FindAllStringSubmatch(fields, -1) {
		described[m[1]] = true
	}
	c := config(dir(t))
	written := start(t, c).info()
	for field := range written {
		if !described[field] {
			t.Errorf("INFO has the field %s, docs/protocol.md does not", field)
		}
	}
	for field := range described {
		if _, ok := written[field]; !ok {
			t.Errorf("docs/protocol.md has the field %s, INFO does not", field)
		}
	}
}
