// Package inject runs a daemon with the faults that a drill's environment asks for, and with the
// recorder of what it does. It is handed to the command line instead of daemon.Run in builds with
// the tag drill. Package fault has the variables' names.
package inject

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/audit/record"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/fault"
)

// Run is daemon.Run on the clock that the environment names.
func Run(ctx context.Context, c daemon.Config) error {
	if err := fault.Check(); err != nil {
		return err
	}
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	c, end, err := equip(c)
	if err != nil {
		return err
	}
	defer end()
	d, err := daemon.New(c)
	if err != nil {
		return err
	}
	dir := os.Getenv(fault.Evidence)
	if dir == "" {
		return d.Run(ctx)
	}
	layout, err := generator.ParseLayout(c.IDs.Layout)
	if err != nil {
		return err
	}
	file, err := record.Open(dir, d.Identity(), layout, c.Log.Named("record"))
	if err != nil {
		return fmt.Errorf("$%s: %w", fault.Evidence, err)
	}
	d.Decorate(file.Source, file.Coordinator)
	return errors.Join(d.Run(ctx), file.Close())
}

// equip returns c with what the environment names. Call end when done.
func equip(c daemon.Config) (_ daemon.Config, end func(), err error) {
	c.Cluster.FUSE = os.Getenv(fault.FUSE) != ""
	path := os.Getenv(fault.Clock)
	if path == "" {
		return c, func() {}, nil
	}
	clock, err := follow(clockguard.System{}, path, func(err error) {
		c.Log.Error("drill clock: the offset stays as it was", "error", err)
	})
	if err != nil {
		return c, nil, fmt.Errorf("the clock: %w", err)
	}
	c.Clock, c.Kernel = clock, drillKernel{host: c.Host}
	return c, clock.close, nil
}
