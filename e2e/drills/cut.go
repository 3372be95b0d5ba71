//go:build e2e

package drills

import (
	"context"
	"sync"

	"github.com/flakeward/flakeward/e2e/compose"
)

// The images that are built for the drills.
const (
	daemonImage  = "flakeward-drill:local" // unless -image names another
	sidecarImage = "flakeward-sidecar:local"
)

// cut drops the packets of one container.
type cut struct {
	engine    *compose.Engine
	container string
	note      func(kind string) (end func())

	mu  sync.Mutex
	on  bool
	end func() // of the fault; nil if none is noted
}

func (c *cut) active() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.on
}

// make begins a cut and notes it.
func (c *cut) make(ctx context.Context, d Direction) error {
	kind := "cut off"
	if d != Both {
		kind += " " + string(d)
	}
	c.set(true, c.note(kind))
	return c.tool(ctx, "cut", string(d))
}

// hide begins a cut that is part of another fault.
func (c *cut) hide(ctx context.Context) error {
	c.set(true, nil)
	return c.tool(ctx, "cut", string(Both))
}

// heal ends a cut. The network of a container that is gone is healed already.
func (c *cut) heal(ctx context.Context) error {
	s, err := c.engine.State(ctx, c.container)
	if err != nil {
		return err
	}
	if s.Running {
		if err := c.tool(ctx, "heal"); err != nil {
			return err
		}
	}
	c.set(false, nil)
	return nil
}

// set ends the fault of before.
func (c *cut) set(on bool, end func()) {
	c.mu.Lock()
	before := c.end
	c.on, c.end = on, end
	c.mu.Unlock()
	if before != nil {
		before()
	}
}

// gone says that the container's network is gone, and the cut with it.
func (c *cut) gone() { c.set(false, nil) }

// tool runs the sidecar's tool in the container's network.
func (c *cut) tool(ctx context.Context, args ...string) error {
	_, err := c.engine.Docker(ctx, append([]string{"run", "--rm", "--network", "container:" + c.container,
		"--user", "0", "--cap-drop", "ALL", "--cap-add", "NET_ADMIN", "--label", projectLabel + "=" + c.container, sidecarImage}, args...)...)
	return err
}

// projectLabel makes what is left of a tool be found with the rest: containers are named PROJECT-service.
const projectLabel = "com.docker.compose.project"
