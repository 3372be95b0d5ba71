// Package postgres runs throwaway PostgreSQL servers for tests.
package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
)

const (
	superuser = "postgres" // of the cluster
	database  = "postgres"
	// timeout bounds the start.
	timeout = 30 * time.Second
	// knock is how long to wait before another try to connect.
	knock = 20 * time.Millisecond
)

// find is the directory of PostgreSQL's programs, of the newest version that is installed; empty if
// there is none. Debian keeps them out of the PATH.
func find() string {
	newest, best := "", -1
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the only error: a bad pattern
	for _, dir := range found {
		if v, err := strconv.Atoi(filepath.Base(filepath.Dir(dir))); err == nil && v > best && complete(dir) {
			newest, best = dir, v
		}
	}
	if newest == "" {
		if path, err := exec.LookPath("postgres"); err == nil && complete(filepath.Dir(path)) {
			return filepath.Dir(path)
		}
	}
	return newest
}

// complete reports whether all that is needed is in a directory.
func complete(dir string) bool {
	for _, program := range []string{"initdb", "postgres", "psql"} {
		if _, err := exec.LookPath(filepath.Join(dir, program)); err != nil {
			return false
		}
	}
	return true
}

// Cluster is a PostgreSQL server with data of its own, on a Unix socket only. All its settings are
// the defaults: what is committed is on disk.
type Cluster struct {
	programs string // directory
	dir      string // data and socket
	as       []string
	server   *process.Process
}

// Start starts a PostgreSQL that ends with the test, which fails without the programs. It keeps
// everything in a directory of its own below the one for temporary files, as the user that
// PostgreSQL insists on may not enter another's.
func Start(t *testing.T) *Cluster {
	t.Helper()
	c := &Cluster{programs: find()}
	if c.programs == "" {
		t.Fatal("PostgreSQL is not installed: apt-get install postgresql")
	}
	c.dir = must.Get(os.MkdirTemp("", "flakeward-postgres-"))(t)
	t.Cleanup(func() { must.Do(t, c.close()) })
	must.Do(t, c.become())
	ctx := context.WithoutCancel(t.Context()) // the test's end stops it in order
	data := filepath.Join(c.dir, "data")
	must.Get(c.output(ctx, "initdb", "-D", data, "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C"))(t)
	words := c.words("postgres", "-D", data, "-k", c.dir, "-c", "listen_addresses=", "-c", "max_connections=100")
	c.server = must.Get(process.Start(ctx, process.Program{Command: words}))(t)
	must.Do(t, c.await(ctx))
	return c
}

// become has PostgreSQL's programs run as the user postgres if this is root, as which they refuse
// to.
func (c *Cluster) become() error {
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	// The kernel forgets the signal at a parent's end when a process changes its user.
	c.as = []string{"setpriv", "--reuid", u.Uid, "--regid", u.Gid, "--clear-groups", "--pdeathsig", "KILL", "--"}
	return os.Chown(c.dir, uid, gid)
}

// words are a command line, as the right user.
func (c *Cluster) words(program string, args ...string) []string {
	return append(append(append([]string(nil), c.as...), filepath.Join(c.programs, program)), args...)
}

// output runs a program to its end, and returns what it wrote.
func (c *Cluster) output(ctx context.Context, program string, args ...string) (string, error) {
	out, err := c.command(ctx, program, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", program, err, bytes.TrimSpace(out))
	}
	return string(out), nil
}

func (c *Cluster) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	words := c.words(program, args...)
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.SysProcAttr = process.Orphanless()
	command.Dir = c.dir
	return command
}

// PSQL is a psql that is to be started, with more arguments. It ends at an error.
func (c *Cluster) PSQL(ctx context.Context, args ...string) *exec.Cmd {
	return c.command(ctx, "psql", append([]string{"-h", c.dir, "-U", superuser, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database}, args...)...)
}

// await waits until the server takes statements.
func (c *Cluster) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("PostgreSQL takes no statements within %v", timeout))
	defer cancel()
	ticker := time.NewTicker(knock)
	defer ticker.Stop()
	for {
		err := c.Exec(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-c.server.Ended():
			return c.server.Gone()
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// Exec executes a statement.
func (c *Cluster) Exec(ctx context.Context, sql string) error {
	_, err := c.Query(ctx, sql)
	return err
}

// Query executes a statement and returns the rows, a line each, with | between their columns.
func (c *Cluster) Query(ctx context.Context, sql string) (rows []string, err error) {
	out, err := c.output(ctx, "psql", "-h", c.dir, "-U", superuser, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql, database)
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n"), err
}

// close stops the server and removes what it kept. It says what went wrong with the server; it is
// gone in any case.
func (c *Cluster) close() error {
	var err error
	if c.server != nil {
		err = c.server.Stop(context.Background())
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}
