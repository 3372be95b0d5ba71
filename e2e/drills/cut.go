//go:build e2e

package drills

import (
	"context"
	"fmt"
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

	mu     sync.Mutex
	on     bool
	end    func() // of the fault; nil if none is noted
	counts *drops // of the last heal; nil if it had none, or a cut began since
}

// drops is how many packets a cut dropped.
type drops struct{ in, out uint64 }

// parseDrops reads what the sidecar's heal prints.
func parseDrops(text string) (d drops, err error) {
	_, err = fmt.Sscanf(text, "in %d out %d\n", &d.in, &d.out)
	if err != nil || text != fmt.Sprintf("in %d out %d\n", d.in, d.out) {
		return drops{}, fmt.Errorf("the sidecar's heal says %q, and not how many packets were dropped: is its image of this tree (make drill-images)?", text)
	}
	return d, nil
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
	_, err := c.tool(ctx, "cut", string(d))
	return err
}

// hide begins a cut that is part of another fault.
func (c *cut) hide(ctx context.Context) error {
	c.set(true, nil)
	_, err := c.tool(ctx, "cut", string(Both))
	return err
}

// heal ends a cut and keeps what it dropped. The network of a container that is gone is healed
// already, and its counts are gone too.
func (c *cut) heal(ctx context.Context) error {
	s, err := c.engine.State(ctx, c.container)
	if err != nil {
		return err
	}
	if !s.Running {
		c.set(false, nil)
		return nil
	}
	text, err := c.tool(ctx, "heal")
	if err != nil {
		return err
	}
	c.set(false, nil)
	d, err := parseDrops(text)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.counts = &d
	c.mu.Unlock()
	return nil
}

// dropped is what the cut dropped that the last heal ended; known is false if it had no counts.
func (c *cut) dropped() (d drops, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		return drops{}, false
	}
	return *c.counts, true
}

// set ends the fault of before, and forgets its counts.
func (c *cut) set(on bool, end func()) {
	c.mu.Lock()
	before := c.end
	c.on, c.end, c.counts = on, end, nil
	c.mu.Unlock()
	if before != nil {
		before()
	}
}

// gone says that the container's network is gone, and the cut with it.
func (c *cut) gone() { c.set(false, nil) }

// tool runs the sidecar's tool in the container's network and returns what it prints.
func (c *cut) tool(ctx context.Context, args ...string) (string, error) {
	return c.engine.Docker(ctx, append([]string{"run", "--rm", "--network", "container:" + c.container,
		"--user", "0", "--cap-drop", "ALL", "--cap-add", "NET_ADMIN", "--label", projectLabel + "=" + c.container, sidecarImage}, args...)...)
}

// projectLabel makes what is left of a tool be found with the rest: containers are named
// PROJECT-service.
const projectLabel = "com.docker.compose.project"
