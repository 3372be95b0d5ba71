package rest

import (
	"os"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

func TestThePageHasEveryPathAndCode(t *testing.T) {
	text := must.Get(os.ReadFile("../../docs/http.md"))(t)
	page := string(text)
	for code := range statuses {
		if !strings.Contains(page, "`"+code+"`") && code != "not-allowed" { // which is told in RESP
			t.Errorf("docs/http.md does not have the code %s", code)
		}
	}
	for path := range start(t, "twitter", nil).server.routes {
		if !strings.Contains(page, "\n| `"+path) {
			t.Errorf("docs/http.md does not have the path %s", path)
		}
	}
}
