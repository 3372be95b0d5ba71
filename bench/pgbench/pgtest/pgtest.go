// Package pgtest starts PostgreSQL for tests.
package pgtest

import (
	"context"
	"os"
	"testing"

	"github.com/flakeward/flakeward/bench/pgbench"
)

// Start starts a PostgreSQL that ends with the test. Without the programs the test fails, and says how to get them.
func Start(t *testing.T) *pgbench.Cluster {
	t.Helper()
	programs := pgbench.Find()
	if programs == "" {
		t.Fatal(pgbench.Install)
	}
	t.Setenv("TMPDIR", OpenDir(t))
	c, err := pgbench.Start(context.WithoutCancel(t.Context()), programs) // the test's end stops it in order
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// OpenDir is a directory that PostgreSQL's user may enter.
func OpenDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
