package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// oldFor is how old a journal is that is put back: its mark lies further back than a restart takes,
// and nothing has been published since.
const oldFor = 1700 * time.Millisecond

// TestOldJournalUnderBursts puts an old journal back after a kill, while the coordinator is there.
// The next start may draw on earlier ticks, and not on those that were issued from since that
// journal.
func TestOldJournalUnderBursts(t *testing.T) {
	for name, put := range map[string]func(path string, data []byte) error{
		"by a rename": func(path string, data []byte) error {
			return errors.Join(os.WriteFile(path+".old", data, 0o600), os.Rename(path+".old", path))
		},
		"into the same file": func(path string, data []byte) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.Write(data)
			return errors.Join(err, f.Truncate(int64(len(data))), f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, 1, func(w *testCluster) {
				c := w.calm("burst")
				c.Grant.Step = 200 * time.Millisecond
				m := w.machine("home")
				m.env = append(m.env, "FLAKEWARD_BURST=2s")
				n := w.spawnOn(c, m)
				// Something is issued in each tick.
				load := n.stream(3000)
				load.await(1000)
				path := filepath.Join(c.StateDir, "journal")
				old, err := os.ReadFile(path)
				if err != nil {
					w.Fatal(err)
				}
				saved := time.Now()
				w.soon("an old journal", func() bool { return time.Since(saved) >= oldFor })
				had := n.holds()
				n.kill()
				_, _, _ = load.stop() // it has ended with the daemon
				if err := put(path, old); err != nil {
					w.Fatal(err)
				}
				again := w.spawnOn(c, m)
				// A process that has just started has taken nothing of the ticks before it.
				for range 40 {
					again.must(20_000)
				}
				w.figure("a journal put back %s: worker ID %d, then %d, %v after the kill", name, had, again.holds(), again.took.Round(time.Millisecond))
			})
		})
	}
}
