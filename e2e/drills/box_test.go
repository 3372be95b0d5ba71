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

// box is a container that drills break: a host's daemon, or a member of the coordinator. Its
// methods may be called from several goroutines. Those that break something note the fault.
type box struct {
	Name      string // host-1, etcd-1, ...
	engine    *compose.Engine
	container string
	fault     func(name, kind string)

	mu  sync.Mutex
	cut bool
}

func (b *box) String() string { return b.Name }

func (b *box) docker(ctx context.Context, args ...string) string {
	return mustGet(b.engine.Docker(ctx, append(args, b.container)...))
}

func (b *box) state(ctx context.Context) compose.State {
	return mustGet(b.engine.State(ctx, b.container))
}

// Kill kills it (SIGKILL) and returns when it is gone. It stays dead until Start.
func (b *box) Kill(ctx context.Context) {
	b.fault(b.Name, "kill -9")
	b.setCut(false) // its network is gone too
	must(b.engine.Kill(ctx, b.container))
}

// Stop stops it cleanly (SIGTERM) and returns when it is gone.
func (b *box) Stop(ctx context.Context) {
	b.fault(b.Name, "stop")
	b.setCut(false)
	b.docker(ctx, "stop", "--time", "15")
}

// Start starts it after Kill, Stop, or its own end, and returns as soon as it runs. What runs is
// left as it is.
func (b *box) Start(ctx context.Context) { b.docker(ctx, "start") }

// Pause freezes it until Resume. Connections stay, and get nothing.
func (b *box) Pause(ctx context.Context) {
	b.fault(b.Name, "paused")
	b.docker(ctx, "pause")
}

// Resume ends a Pause.
func (b *box) Resume(ctx context.Context) { b.docker(ctx, "unpause") }

// Direction is which packets of a container are dropped.
type Direction string

// The directions, as seen from the container.
const (
	Both Direction = "both"
	In   Direction = "in"
	Out  Direction = "out"
)

// Cut drops all packets to, from, or to and from it, silently, until Heal. A second Cut replaces
// the first. A cut does not outlast the container's network, which is new with each start.
func (b *box) Cut(ctx context.Context, d Direction) {
	b.fault(b.Name, "cut "+string(d))
	b.setCut(true)
	b.tool(ctx, "cut", string(d))
}

// Heal ends a Cut and returns how many packets were dropped.
func (b *box) Heal(ctx context.Context) (in, out int) {
	if !b.state(ctx).Running {
		b.setCut(false)
		return 0, 0
	}
	text := b.tool(ctx, "heal")
	b.setCut(false)
	if _, err := fmt.Sscanf(text, "in %d out %d\n", &in, &out); err != nil {
		fail("the sidecar's heal says %q, and not how many packets were dropped: %w", text, err)
	}
	return in, out
}

func (b *box) setCut(cut bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = cut
}

func (b *box) isCut() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cut
}

// tool runs the sidecar's program in the container's network and returns what it prints. Its label
// has what is left of it found with the rest.
func (b *box) tool(ctx context.Context, args ...string) string {
	return mustGet(b.engine.Docker(ctx, append([]string{"run", "--rm", "--network", "container:" + b.container,
		"--user", "0", "--cap-drop", "ALL", "--cap-add", "NET_ADMIN", "--label", "com.docker.compose.project=" + b.container, sidecarImage}, args...)...))
}
