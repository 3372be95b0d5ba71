package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

func node(t *testing.T) driver {
	t.Helper()
	file(t, "..", "..", "clients", "node", "flakeward.js")
	return driver{"node", []string{interpreter(t, "node"), file(t, "testdata", "driver.js")}}
}

func TestNode(t *testing.T) {
	tests(t, append(node(t).command[:1:1], file(t, "testdata", "node_test.js")))
}

func TestNodeThroughKillsAndUpdates(t *testing.T) { throughKillsAndUpdates(t, node(t)) }

func TestNodeFigures(t *testing.T) { measure(t, node(t)) }

// The example of docs/clients.md takes IDs, and says why there are none. So it does in a package of
// ES modules, beside the copy that the page describes.
func TestNodeExample(t *testing.T) {
	h, dir := host(t), t.TempDir()
	command := []string{node(t).command[0], example(t, "js", dir, "example.js")}
	client := must.Get(os.ReadFile(file(t, "..", "..", "clients", "node", "flakeward.js")))(t)
	must.Do(t, os.WriteFile(filepath.Join(dir, "flakeward.js"), client, 0o600))
	if said := says(t, h.Socket, command...); !strings.HasPrefix(said, "UNREACHABLE no daemon is reached at the socket "+h.Socket) {
		t.Errorf("without a daemon it says %q", said)
	}
	start(t, h)
	if said := says(t, h.Socket, command...); said != "bigint 1001 IDs\n" {
		t.Errorf("it says %q", said)
	}
	text := string(must.Get(os.ReadFile(command[1]))(t))
	text = "import { Client, FlakewardError, DEFAULT_SOCKET } from './flakeward.cjs'\n" + text[strings.Index(text, "\n"):]
	must.Do(t,
		os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o600),
		os.Rename(filepath.Join(dir, "flakeward.js"), filepath.Join(dir, "flakeward.cjs")),
		os.WriteFile(command[1], []byte(text), 0o600))
	if said := says(t, h.Socket, command...); said != "bigint 1001 IDs\n" {
		t.Errorf("as an ES module it says %q", said)
	}
}
