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
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/dir"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/generator"
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
	if r := d.m.r; r.options.SmallState {
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

func (d *directory) version(context.Context) string { return "a directory" }

// makeCluster makes the cluster in the directory of a drill, of long ago: the clocks of its daemons may
// go back.
func (r *Run) makeCluster(path string) error {
	d, err := dir.New(dir.Config{Path: path, Identity: coord.Identity{Incarnation: "drill"}})
	if err != nil {
		return err
	}
	_, err = d.Create(context.Background(), coord.NewCluster{
		Text: grant.LayoutText(r.Layout, 0), Workers: min(r.Layout.Workers(), coord.MaxWorkers), Window: generator.Tick(r.options.Window / r.Layout.TickLength()),
	})
	return errors.Join(err, d.Close())
}
