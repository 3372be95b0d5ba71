package compose

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
)

// State is what a container does.
type State struct {
	Running bool // a paused one runs
	Paused  bool
	Status  int    // its exit status, if it does not run
	Address string // in the first of its networks; empty if it has none
}

// State looks at a container.
func (e *Engine) State(ctx context.Context, container string) (State, error) {
	out, err := e.Docker(ctx, "container", "inspect", "--format",
		"{{.State.Running}} {{.State.Paused}} {{.State.ExitCode}} {{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}", container)
	if err != nil {
		return State{}, err
	}
	var s State
	if n, err := fmt.Sscan(out, &s.Running, &s.Paused, &s.Status, &s.Address); n < 3 { // one may have no address
		return State{}, fmt.Errorf("docker says %q of the container %s, and its state was asked for: %w", out, container, err)
	}
	return s, nil
}

// Kill kills the processes of containers that run (SIGKILL), and returns when they are gone.
func (e *Engine) Kill(ctx context.Context, containers ...string) error {
	if _, err := e.Docker(ctx, append([]string{"kill"}, containers...)...); err != nil {
		return err
	}
	_, err := e.Docker(ctx, append([]string{"wait"}, containers...)...)
	return err
}

// Logs returns all that a container has written, standard output and standard error in the order of
// their times.
func (e *Engine) Logs(ctx context.Context, container string) (string, error) {
	if e.Gate != nil {
		e.Gate.Lock()
		defer e.Gate.Unlock()
	}
	c := exec.CommandContext(ctx, "docker", "logs", container)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.WaitDelay = settle
	out, err := c.CombinedOutput()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return string(out), fmt.Errorf("docker logs %s: %w", container, cause)
		}
		return string(out), fmt.Errorf("docker logs %s: %w: %s", container, err, tail(string(out)))
	}
	return string(out), nil
}
