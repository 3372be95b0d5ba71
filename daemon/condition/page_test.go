package condition_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/internal/must"
)

const page = "../../docs/operations.md"

func TestPageHasEveryCodeAsTheTableHasIt(t *testing.T) {
	text := must.Get(os.ReadFile(page))(t)
	_, section, found := strings.Cut(string(text), "\n## Codes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatalf("%s has no section Codes", page)
	}
	var want strings.Builder
	want.WriteString("| code | what happened | what to do |\n|---|---|---|\n")
	seen := map[condition.Code]bool{}
	for _, e := range condition.Table {
		if seen[e.Code] || e.Happened == "" || e.Code.Do() != e.Do {
			t.Errorf("%s is there twice, or says nothing", e.Code)
		}
		seen[e.Code] = true
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", e.Code, e.Happened, e.Do)
	}
	if !strings.Contains(section, want.String()) {
		t.Errorf("%s does not have the codes as the code has them:\n%s", page, want.String())
	}
}
