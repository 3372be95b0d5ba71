package zkserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ForceCounter has the node's sequence counter stand at value, 0 to 2^31-1: the next
// sequential child gets it as its suffix. That many children cannot be made in a test,
// so the server's own snapshot is edited; the server must be alone, and is stopped and
// started twice.
func (e *Ensemble) ForceCounter(ctx context.Context, parent string, value int32) error {
	if len(e.members) != 1 {
		return errors.New("forcing a sequence counter takes a server that is alone, and this is an ensemble")
	}
	m := e.members[0]
	// A server writes a snapshot of all it has whenever it starts.
	if m.running() {
		if err := e.Stop(ctx); err != nil {
			return err
		}
	}
	if err := e.Start(ctx); err != nil {
		return err
	}
	if err := e.Stop(ctx); err != nil {
		return err
	}
	path, err := m.newestSnapshot()
	if err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed, err := setCounter(old, parent, value)
	if err != nil {
		return fmt.Errorf("the snapshot %s: %w", path, err)
	}
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		return err
	}
	return e.Start(ctx)
}

// newestSnapshot is the snapshot with the highest zxid, which its name ends with.
func (m *member) newestSnapshot() (string, error) {
	files, err := filepath.Glob(filepath.Join(m.versions(), "snapshot.*"))
	if err != nil {
		return "", err
	}
	newest, last := "", uint64(0)
	for _, f := range files {
		zxid, err := strconv.ParseUint(strings.TrimPrefix(filepath.Base(f), "snapshot."), 16, 64)
		if err == nil && (newest == "" || zxid > last) {
			newest, last = f, zxid
		}
	}
	if newest == "" {
		return "", fmt.Errorf("there is no snapshot in %s", m.versions())
	}
	return newest, nil
}
