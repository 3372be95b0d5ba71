package clients

import (
	"path/filepath"
	"strings"
	"testing"
)

func python(t *testing.T) driver {
	t.Helper()
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	t.Setenv("PYTHONPATH", filepath.Dir(file(t, "..", "..", "clients", "python", "flakeward.py")))
	return driver{"python", []string{interpreter(t, "python3"), file(t, "testdata", "driver.py")}}
}

func TestPython(t *testing.T) {
	tests(t, append(python(t).command[:1:1], file(t, "testdata", "python_test.py")))
}

func TestPythonThroughKillsAndUpdates(t *testing.T) { throughKillsAndUpdates(t, python(t)) }

func TestPythonFigures(t *testing.T) { measure(t, python(t)) }

// The example of docs/clients.md takes IDs, and says why there are none.
func TestPythonExample(t *testing.T) {
	h, dir := host(t), t.TempDir()
	command := []string{python(t).command[0], example(t, "python", dir, "example.py")}
	if said := says(t, h.Socket, command...); !strings.HasPrefix(said, "UNREACHABLE no daemon is reached at the socket "+h.Socket) {
		t.Errorf("without a daemon it says %q", said)
	}
	start(t, h)
	if said := says(t, h.Socket, command...); said != "1004 IDs\n" {
		t.Errorf("it says %q", said)
	}
}
