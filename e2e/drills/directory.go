//go:build e2e

package drills

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flakeward/flakeward/audit/history"
)

// directory is the directory's part of Members, of which there are none. The daemons of a drill have
// it in common, and what they note of it.
type directory struct{ m *Members }

func (d *directory) url(string) string { return "dir:/coordinator/coord" }

func (d *directory) leads(context.Context, map[string]string) (string, int) {
	return onDirectory, memberCount
}

func (d *directory) stores(context.Context, map[string]string) error { return nil }

func (d *directory) history(context.Context, string) ([]history.Version, error) {
	return history.Directory(filepath.Join(d.m.r.Dir, "records", "all"))
}

func (d *directory) claims(context.Context, string) (names []string, err error) {
	found, err := os.ReadDir(filepath.Join(d.m.r.Dir, "coordinator", "coord", "claims"))
	for _, e := range found {
		names = append(names, e.Name())
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}

func (d *directory) record(ctx context.Context, _ string) (b []byte, err error) {
	if r := d.m.r; r.options.Small {
		var text string
		text, err = r.Hosts[0].exec(ctx, "cat", smallMount+"/coord/cluster")
		b = []byte(text)
	} else {
		b, err = os.ReadFile(filepath.Join(r.Dir, "coordinator", "coord", "cluster"))
	}
	for range 2 { // the file's line, and that of the inode
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	return b, err
}

// FillDirectory fills the disk of the directory (Options.Small) to the last byte, until FreeDirectory.
func (r *Run) FillDirectory(ctx context.Context) error {
	r.full = r.Fault("disk full")
	_, err := r.Hosts[0].exec(ctx, "fill", smallMount)
	return err
}

// FreeDirectory ends a FillDirectory.
func (r *Run) FreeDirectory(ctx context.Context) error {
	_, err := r.Hosts[0].exec(ctx, "free", smallMount)
	r.full()
	return err
}
