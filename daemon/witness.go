//go:build drill

package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/audit/evidence"
	witnesses "github.com/flakeward/flakeward/audit/record"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/resp"
)

// EvidenceVariable names the environment variable that holds the directory where a drill build writes down what it
// does: one log of package evidence for each start. Without it nothing is written.
const EvidenceVariable = "FLAKEWARD_DRILL_EVIDENCE"

// witness is the log in which package record writes down what the daemon does.
type witness struct {
	events *evidence.Events // nil: nothing is written
	step   int64            // between the IDs of a run
	log    hclog.Logger
	said   *sync.Once
}

// testify opens the log of this start.
func (d *Daemon) testify() (witness, error) {
	dir := os.Getenv(EvidenceVariable)
	if dir == "" {
		return witness{}, nil
	}
	now := evidence.Now()
	// Of equal length, so that names sort by time.
	events, err := evidence.OpenEvents(filepath.Join(dir, fmt.Sprintf("%020d-%s.events", now, d.identity().Incarnation)))
	if err != nil {
		return witness{}, fmt.Errorf("$%s: %w", EvidenceVariable, err)
	}
	err = events.Add(evidence.Event{At: now, Kind: evidence.Began, Host: d.config.Host, Incarnation: d.identity().Incarnation, Layout: d.layout.String()})
	if err != nil {
		return witness{}, errors.Join(err, events.Close())
	}
	return witness{events: events, step: d.layout.Step(), log: d.log.Named("witness"), said: new(sync.Once)}, nil
}

func (w witness) close() error {
	if w.events == nil {
		return nil
	}
	return w.events.Close()
}

// add writes e down. Its failure is final, and said once.
func (w witness) add(e evidence.Event) error {
	e.At = evidence.Now()
	err := w.events.Add(e)
	if err != nil {
		w.said.Do(func() {
			w.log.Error("the evidence of this drill cannot be written: nothing is issued any more", "error", err)
		})
	}
	return err
}

func (w witness) source(s resp.Source) resp.Source {
	if w.events == nil {
		return s
	}
	return witnesses.Source(s, w.step, w.add)
}

func (w witness) coordinator(c coord.Coordinator) coord.Coordinator {
	if w.events == nil {
		return c
	}
	return witnesses.Coordinator(c, w.add)
}
