package record

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
)

// File is the event log of one start of a daemon.
type File struct {
	events *evidence.Events
	step   int64 // between the IDs of a run
	log    hclog.Logger
	failed sync.Once
}

// Open makes a log in dir and writes down which daemon began.
func Open(dir string, who coord.Identity, layout *generator.Layout, log hclog.Logger) (*File, error) {
	now := evidence.Now()
	// Of equal length, so that names sort by time.
	events, err := evidence.OpenEvents(filepath.Join(dir, fmt.Sprintf("%020d-%s.events", now, who.Incarnation)))
	if err != nil {
		return nil, err
	}
	err = events.Add(evidence.Event{At: now, Kind: evidence.Began, Host: who.Host, Incarnation: who.Incarnation, Layout: layout.String()})
	if err != nil {
		return nil, errors.Join(err, events.Close())
	}
	return &File{events: events, step: layout.Step(), log: log}, nil
}

// Close ends the log.
func (f *File) Close() error { return f.events.Close() }

// Source returns a source that hands out what s does, when it is written down.
func (f *File) Source(s resp.Source) resp.Source { return Source(s, f.step, f.add) }

// Coordinator returns a coordinator that lends what c does, when it is written down.
func (f *File) Coordinator(c coord.Coordinator) coord.Coordinator { return Coordinator(c, f.add) }

// add writes e down. Its failure is final, and said once.
func (f *File) add(e evidence.Event) error {
	e.At = evidence.Now()
	err := f.events.Add(e)
	if err != nil {
		f.failed.Do(func() {
			f.log.Error("the evidence of this drill cannot be written: nothing is issued any more", "error", err)
		})
	}
	return err
}
