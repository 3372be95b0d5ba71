package resp

import (
	"bytes"
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

func TestTheProtocolPageHasEveryCommandAndCode(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/protocol.md"))(t)
	commands, _, _ := bytes.Cut(page, []byte("\n## The fields of INFO\n"))
	// A command's heading is in capitals.
	if got := firsts(commands, `(?m)^### ([A-Z]+)$`); !slices.Equal(got, allCommands.names) {
		t.Errorf("docs/protocol.md has the commands %q, the table has %q", got, allCommands.names)
	}
	codes := make(map[string]bool)
	for _, r := range refusals {
		codes[r.prefix] = true
	}
	if got, want := firsts(page, "(?m)^\\| `([A-Z]+)[^`|]*` \\| .* \\| .* \\|$"), slices.Sorted(maps.Keys(codes)); !slices.Equal(got, want) {
		t.Errorf("docs/protocol.md has the codes %q, the replies have %q", got, want)
	}
}

// firsts returns each text once that the pattern's group has on the page, sorted.
func firsts(page []byte, pattern string) (found []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(page, -1) {
		found = append(found, string(m[1]))
	}
	slices.Sort(found)
	return slices.Compact(found)
}
