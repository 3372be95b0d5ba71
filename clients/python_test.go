package clients

import (
	"path/filepath"
	"testing"
)

func python(t *testing.T) driver {
	t.Helper()
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	t.Setenv("PYTHONPATH", filepath.Dir(file(t, "python", "flakeward.py")))
	return driver{"python", []string{need(t, "python3"), file(t, "testdata", "driver.py")}}
}

func TestPython(t *testing.T) {
	tests(t, append(python(t).command[:1:1], file(t, "testdata", "python_test.py")))
}

func TestPythonThroughKillsAndUpdates(t *testing.T) { throughKillsAndUpdates(t, python(t)) }

func TestPythonFigures(t *testing.T) { measure(t, python(t)) }
