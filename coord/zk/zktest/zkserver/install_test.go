package zkserver

import (
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
)

// A server that cannot start says why.
func TestServerThatEnds(t *testing.T) {
	need.That(t, Installed())
	e, err := New(t.TempDir(), Options{Config: map[string]string{"tickTime": "soon"}})
	must.Do(t, err)
	err = e.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), `For input string: "soon"`) {
		t.Errorf("the error of a server with a wrong setting: %v", err)
	}
	must.Do(t, e.Close())
}
