// Package need has tests say what they want beside Go. Where a test lacks it, the test is skipped,
// and says what to install; where the variable CI is set, it fails.
package need

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// That ends the test if something is missing, which is what missing says.
func That(t testing.TB, missing error) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv("CI") != "":
		t.Fatal(missing)
	default:
		t.Skip(missing)
	}
}

// Program is the path of a program. how says how to have it, as a command.
func Program(t testing.TB, name, how string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		That(t, fmt.Errorf("%w: run `%s`", err, how))
	}
	return path
}

// Root ends the test unless it is root's.
func Root(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		That(t, errors.New("this takes root"))
	}
}

// Etcd is the path of etcd's server of a release, such as 3.7, where `scripts/need etcd` puts it.
func Etcd(t testing.TB, release string) string {
	t.Helper()
	dir, err := os.Getwd() // a package's directory
	for err == nil {
		if _, err = os.Stat(filepath.Join(dir, "coord", "etcd", "etcdtest")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("the source of flakeward is not above this directory: %v", err)
		}
		dir, err = filepath.Dir(dir), nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return Program(t, filepath.Join(dir, ".bin", "etcd", release, "etcd"), "scripts/need etcd")
}
