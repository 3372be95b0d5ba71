package zkserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
)

// A distribution's directory wins over Debian's package.
func TestHome(t *testing.T) {
	java, home := t.TempDir(), t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(java, "bin"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(java, "bin", "java"), nil, 0o700))
	t.Setenv("JAVA_HOME", java)
	t.Setenv(HomeVariable, home)
	if _, err := find(); err == nil || !strings.Contains(err.Error(), home) {
		t.Errorf("a home without ZooKeeper: %v", err)
	}
	lib := filepath.Join(home, "lib")
	must.Do(t, os.Mkdir(lib, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(lib, "zookeeper-3.9.1.jar"), nil, 0o600))
	found, err := find()
	if err != nil || found.classPath != filepath.Join(lib, "*") {
		t.Errorf("found %q, %v", found.classPath, err)
	}
}

func TestNoJava(t *testing.T) {
	t.Setenv("JAVA_HOME", "")
	t.Setenv("PATH", t.TempDir())
	if _, err := find(); err == nil || !strings.Contains(err.Error(), "apt-get install") {
		t.Errorf("without Java: %v", err)
	}
}

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
