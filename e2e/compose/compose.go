// Package compose drives docker: whole projects by docker compose, the plugin or
// the program of old, and single containers by the docker command line. Names of
// what it makes begin with a prefix, so that nothing else is ever touched.
package compose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Engine is the docker of this machine. Its methods may be called from several goroutines.
type Engine struct {
	// Gate, if there is one, is held while a command runs.
	Gate sync.Locker

	compose []string // the command: docker compose, or docker-compose
	version string
}

// Find returns the machine's docker, or an error that says what is missing. The compose plugin is
// taken before the program of the same name.
func Find(ctx context.Context) (*Engine, error) {
	if _, err := exec.LookPath("docker"); err != nil {
		return nil, errors.New("there is no docker on the PATH: install docker's engine and its compose plugin (Debian: docker.io and docker-compose)")
	}
	e := &Engine{}
	version, err := e.Docker(ctx, "version", "--format", "{{.Server.Version}}")
	if err != nil {
		return nil, fmt.Errorf("docker's engine does not answer: start it, or become one who may use it (root, or the group docker): %w", err)
	}
	for _, command := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		out, err := e.run(ctx, nil, append(command, "version", "--short"))
		if err == nil {
			e.compose = command
			e.version = strings.Join([]string{"docker", strings.TrimSpace(version), "with", strings.Join(command, " "), strings.TrimSpace(out)}, " ")
			return e, nil
		}
	}
	return nil, errors.New("docker is here, and compose is not: install its plugin (docker compose) or the program docker-compose, 1.29 or later")
}

// Version says what docker and what compose these are.
func (e *Engine) Version() string { return e.version }

// HasImage reports whether there is an image of that name.
func (e *Engine) HasImage(ctx context.Context, name string) (bool, error) {
	out, err := e.Docker(ctx, "images", "--quiet", name)
	return strings.TrimSpace(out) != "", err
}

// Docker runs one docker command and returns its standard output. The error has what it said on
// standard error.
func (e *Engine) Docker(ctx context.Context, args ...string) (string, error) {
	return e.run(ctx, nil, append([]string{"docker"}, args...))
}

// settle is how long a command that was told to end may take for it, before it is killed.
const settle = 5 * time.Second

func (e *Engine) run(ctx context.Context, env []string, command []string) (string, error) {
	if e.Gate != nil {
		e.Gate.Lock()
		defer e.Gate.Unlock()
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env = append(os.Environ(), env...)
	// A group of its own: a Ctrl-C is for the drills, which end what they do in order.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = settle
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return out.String(), fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, tail(said.String()))
	}
	return out.String(), nil
}

// tail is the end of what a command said, for an error.
func tail(s string) string {
	const most = 2000
	s = strings.TrimSpace(s)
	if len(s) > most {
		s = "..." + s[len(s)-most:]
	}
	return s
}
