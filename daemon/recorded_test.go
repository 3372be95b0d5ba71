package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/internal/fault"
	"github.com/flakeward/flakeward/internal/fault/inject"
	"github.com/flakeward/flakeward/internal/must"
)

// logs returns what was written down, one log for each start.
func logs(t *testing.T, dir string) [][]evidence.Event {
	t.Helper()
	paths := must.Get(filepath.Glob(filepath.Join(dir, "*.events")))(t)
	slices.Sort(paths)
	all := make([][]evidence.Event, len(paths))
	for i, path := range paths {
		must.Do(t, evidence.ReadEvents(path, func(e evidence.Event) error { all[i] = append(all[i], e); return nil }))
	}
	return all
}

// TestTheRecorderWritesDownWhatComesOut: the IDs in the log are those that were received, all of
// them, in their order, and each is within what had been written down as claimed and granted before
// it.
func TestTheRecorderWritesDownWhatComesOut(t *testing.T) {
	evidenceDir := t.TempDir()
	t.Setenv(fault.Evidence, evidenceDir)
	c := config(dir(t))
	layout := layoutOf(t, c)
	before := evidence.Now()
	var got [2][]int64
	var workers [2]int
	for n := range got {
		r := startBy(t, c, inject.Run)
		for range 5 {
			got[n] = append(got[n], r.next())
		}
		batch := must.Get(r.client.Do(t.Context(), "NEXT", 9000).Int64Slice())(t)
		got[n] = append(got[n], batch...)
		runs := must.Get(r.client.Do(t.Context(), "RUN", 5000).Int64Slice())(t)
		for i := 1; i < len(runs); i += 2 {
			for k := range runs[i+1] {
				got[n] = append(got[n], runs[i]+k*runs[0])
			}
		}
		workers[n] = must.Get(strconv.Atoi(r.info()["worker_id"]))(t)
		r.Stop()
	}
	all := logs(t, evidenceDir)
	if len(all) != len(got) {
		t.Fatalf("%d logs of %d starts", len(all), len(got))
	}
	for n, events := range all {
		e := events[0]
		if e.Kind != evidence.Began || e.Host != c.Host || len(e.Incarnation) != 32 || e.Layout != layout.String() {
			t.Errorf("start %d begins with %+v", n, e)
		}
		var issued []int64
		var claim evidence.Event
		ceiling, at := claim.Floor, before
		var kinds []evidence.Kind
		for _, e := range events {
			if e.At < at || e.At > evidence.Now() {
				t.Errorf("%+v was before what stands before it, or is in the future", e)
			}
			at = e.At
			if len(kinds) == 0 || kinds[len(kinds)-1] != e.Kind {
				kinds = append(kinds, e.Kind)
			}
			switch e.Kind {
			case evidence.Claimed:
				claim = e
			case evidence.Extended:
				ceiling = max(ceiling, e.Ceiling)
			case evidence.Issued:
				for i := range e.Run.N {
					issued = append(issued, e.Run.First+int64(i)*e.Run.Step)
				}
				if tick := tickOf(t, layout, e.Run.First); tick > ceiling {
					t.Fatalf("tick %d was issued under a ceiling of %d", tick, ceiling)
				}
			case evidence.Releasing, evidence.Released:
				if last := tickOf(t, layout, issued[len(issued)-1]); e.Last != last {
					t.Errorf("%+v, want the last tick %d", e, last)
				}
			}
			if e.Kind >= evidence.Claimed && e.Kind != evidence.Claiming && (e.Worker != workers[n] || e.Opening != claim.Opening || e.Opening == "") {
				t.Errorf("%+v is not of worker ID %d and the claim %+v", e, workers[n], claim)
			}
		}
		if !slices.Equal(issued, got[n]) {
			t.Errorf("start %d: %d IDs are written down, %d were received, or others", n, len(issued), len(got[n]))
		}
		want := []evidence.Kind{
			evidence.Began, evidence.Claiming, evidence.Claimed, evidence.Extending, evidence.Extended, evidence.Issued,
			evidence.Releasing, evidence.Released,
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("start %d: the events are of kinds %v, want %v", n, kinds, want)
		}
	}
}

func TestWithoutTheVariableNothingIsWritten(t *testing.T) {
	d := dir(t)
	t.Setenv(fault.Evidence, "")
	t.Chdir(d)
	r := startBy(t, config(d), inject.Run)
	r.next()
	r.Stop()
	must.Do(t, filepath.WalkDir(d, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".events") {
			t.Errorf("%s was written", path)
		}
		return err
	}))
}

func TestEvidenceThatCannotBeWrittenAtTheStart(t *testing.T) {
	t.Setenv(fault.Evidence, filepath.Join(t.TempDir(), "missing"))
	err := launchBy(t, config(dir(t)), inject.Run).End()
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), fault.Evidence) {
		t.Errorf("the daemon ended with %v, want the variable and what is missing", err)
	}
}
