//go:build e2e

package drills

import (
	"cmp"
	"context"
	"fmt"

	"github.com/flakeward/flakeward/e2e/sidecar/files"
)

// disk is all that a host's disk has of its daemon: the directories whose contents the daemon writes.
func (h *Host) disk() []string { return []string{h.socketDir} }

// LoseDisk removes all that the daemon has on its host's disk. The daemon must not run.
func (h *Host) LoseDisk(ctx context.Context) error {
	if running, _, err := h.Running(ctx); err != nil || running {
		return cmp.Or(err, fmt.Errorf("%s must not run while its disk is lost: kill or stop it first", h.Name))
	}
	h.r.instant("disk lost", h.Name)
	return files.Remove(h.disk()...)
}

// CopyDisk replaces all that the daemon has on its host's disk by what another has on its own, which
// may run. The daemon of h must not run.
func (h *Host) CopyDisk(ctx context.Context, from *Host) error {
	if err := h.LoseDisk(ctx); err != nil {
		return err
	}
	into := h.disk()
	for i, dir := range from.disk() {
		if err := files.Copy(dir, into[i]); err != nil {
			return fmt.Errorf("the disk of %s cannot be copied: %w", from.Name, err)
		}
	}
	return nil
}

// exec runs the sidecar's program in the client's container, as the daemon's user, and returns what
// it prints.
func (h *Host) exec(ctx context.Context, args ...string) (string, error) {
	return h.r.project.Engine.Docker(ctx, append([]string{"exec", h.client, "/sidecar"}, args...)...)
}
