package claims

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/internal/must"
)

// scripted is a store without claims and records that answers Look and Read as the test says.
type scripted struct {
	Store
	look    Entry
	looked  func() // if not nil, called when Look has read what it answers
	history func(layout Entry) (Entry, error)
}

func (s *scripted) Name() string                                        { return "scripted" }
func (s *scripted) Path(key string) string                              { return key }
func (s *scripted) Make(context.Context, []byte) (Entry, error)         { return s.look, nil }
func (s *scripted) Claims(context.Context, Entry, bool) ([]Node, error) { return nil, nil }

func (s *scripted) Records(context.Context, Entry, int, func(int, Entry) bool) error { return nil }

func (s *scripted) Look(context.Context) (Entry, error) {
	read := s.look
	if s.looked != nil {
		s.looked()
	}
	return read, nil
}

func (s *scripted) LookAnew(ctx context.Context) (Entry, error) { return s.Look(ctx) }

func (s *scripted) Read(_ context.Context, layout Entry, _ string) (Entry, error) {
	return s.history(layout)
}

func epoch(version int64, name string) Entry {
	return Entry{Value: encode(layout{Layout: "l", UUID: "u", Workers: 8, Epoch: name, Identity: "i", Floor: 5}), Version: version}
}

func newScripted(t *testing.T) (*scripted, *Coordinator) {
	t.Helper()
	s := &scripted{look: epoch(1, "")}
	c := must.Get(New(s, Config{Identity: coord.Identity{Incarnation: "a"}}))(t)
	coordtest.Join(t, c, coord.Layout{Text: "l", Workers: 8})
	return s, c
}

// Of two requests that find the cluster record changed, the one that was answered
// later may have found it earlier: that is not taken for the newest.
func TestAnswersOutOfOrder(t *testing.T) {
	s, c := newScripted(t)
	sent, answer := make(chan struct{}), make(chan struct{})
	slow := true
	s.history = func(layout Entry) (Entry, error) {
		switch {
		case slow:
			slow = false
			close(sent)
			<-answer
			return Entry{}, &MovedError{Found: epoch(2, "OLD")}
		case layout.Version == 1:
			return Entry{}, &MovedError{Found: epoch(3, "NEW")}
		}
		return Entry{}, nil
	}
	done := make(chan error, 1)
	go func() { _, err := c.History(t.Context(), 1); done <- err }()
	<-sent
	must.Get(c.History(t.Context(), 1))(t)
	close(answer)
	must.Do(t, <-done)
	if j, err := c.cluster.ready(); err != nil || j.epoch != "NEW" || j.entry.Version != 3 {
		t.Errorf("the coordinator believes in epoch %q, version %d (%v)", j.epoch, j.entry.Version, err)
	}
}

// A Join or an Inspect whose look was answered late does not bring back a cluster epoch that has
// ended: a claim of the new one would be given up for it.
func TestLookThatIsLate(t *testing.T) {
	for name, again := range map[string]func(c *Coordinator) error{
		"Join": func(c *Coordinator) error {
			_, err := c.Join(t.Context(), coord.Layout{Text: "l", Workers: 8})
			return err
		},
		"Inspect": func(c *Coordinator) error { _, err := c.Inspect(t.Context()); return err },
	} {
		s, c := newScripted(t)
		s.history = func(layout Entry) (Entry, error) {
			if layout.Version == 1 {
				return Entry{}, &MovedError{Found: epoch(2, "NEW")}
			}
			return Entry{}, nil
		}
		s.looked = func() { // the marks are raised while the answer is under way
			if _, err := c.History(t.Context(), 1); err != nil {
				t.Error(err)
			}
		}
		must.Do(t, again(c))
		if j, err := c.cluster.ready(); err != nil || j.epoch != "NEW" || !j.daemon {
			t.Errorf("%s: the coordinator believes in epoch %q, daemon %v (%v)", name, j.epoch, j.daemon, err)
		}
	}
}

// A look that was answered late tells of no raise that another has followed. What a server that
// lags tells of is over with the next request that the servers do.
func TestTheRaiseThatIsKnownIsTheLast(t *testing.T) {
	s, c := newScripted(t)
	s.history = func(layout Entry) (Entry, error) {
		if layout.Version == 1 {
			return Entry{}, &MovedError{Found: epoch(3, "NOW")}
		}
		return Entry{}, nil
	}
	known := func(want string) {
		t.Helper()
		if got := c.Known().Raise.ClusterEpoch; got != want {
			t.Errorf("knows of %q, want %q", got, want)
		}
	}
	ask := func() { must.Get(c.History(t.Context(), 1))(t) }
	s.look, s.looked = epoch(2, "BEFORE"), ask // the marks are raised once more while the answer is under way
	must.Get(c.Look(t.Context()))(t)
	known("NOW")
	s.looked = nil
	must.Get(c.Look(t.Context()))(t)
	known("BEFORE")
	ask()
	known("NOW")
}

// An answer from before a restore does not become the newest after it, however high its version is.
func TestAnAnswerFromBeforeARestoreIsNotTheNewest(t *testing.T) {
	s, c := newScripted(t)
	look := func(found Entry) {
		t.Helper()
		s.look = found
		must.Get(c.Look(t.Context()))(t)
	}
	look(epoch(100, "BEFORE"))
	first := true
	s.history = func(layout Entry) (Entry, error) {
		switch {
		case first: // while this is under way the coordinator is restored, and the marks are raised
			first = false
			look(epoch(51, "AFTER"))
			return Entry{}, &MovedError{Found: epoch(100, "BEFORE")}
		case layout.Version != 51:
			if got := c.Known().Raise; got.ClusterEpoch != "AFTER" {
				t.Errorf("the newest is %+v", got)
			}
			return Entry{}, &MovedError{Found: epoch(51, "AFTER")}
		}
		return Entry{}, nil
	}
	must.Get(c.History(t.Context(), 1))(t)
}

// What a cluster record that is another one means.
func TestJudge(t *testing.T) {
	const ours = `{"layout":"l","uuid":"u","identity":"i","workers":8,"floor":5}`
	restored := &coord.RestoredError{Why: "it went back"}
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	fine := func(err error) bool { return err == nil }
	rolledBack := func(err error) bool {
		var r *coord.RestoredError
		return errors.As(err, &r) && worthRetrying(err) == false
	}
	for name, test := range map[string]struct {
		found    string
		version  int64
		restored *coord.RestoredError
		want     func(error) bool
	}{
		"written in another way":     {" " + ours, 2, nil, fine},
		"raised":                     {`{"layout":"l","uuid":"u","identity":"i","workers":8,"floor":7,"era":"E"}`, 2, nil, fine},
		"its floor went back":        {`{"layout":"l","uuid":"u","identity":"i","workers":8,"floor":4,"era":"E"}`, 2, nil, rolledBack},
		"gone":                       {"", 0, nil, is(coord.ErrOtherCluster)},
		"gone, and went back":        {"", 0, restored, is(coord.ErrOtherCluster)},
		"another, and went back":     {`{"layout":"l","uuid":"v","identity":"i","workers":8,"floor":5}`, 2, restored, is(coord.ErrOtherCluster)},
		"damaged":                    {"{", 2, nil, is(coord.ErrOtherCluster)},
		"raised, and went back":      {`{"layout":"l","uuid":"u","identity":"i","workers":8,"floor":7,"era":"E"}`, 2, restored, rolledBack},
		"another layout, not worth":  {`{"layout":"m","uuid":"u","identity":"i","workers":8,"floor":5}`, 2, nil, func(err error) bool { var l *coord.LayoutError; return errors.As(err, &l) && !worthRetrying(err) }},
		"another layout, went back":  {`{"layout":"m","uuid":"u","identity":"i","workers":8,"floor":5}`, 2, restored, rolledBack},
		"another cluster's layout":   {`{"layout":"m","uuid":"v","identity":"i","workers":8,"floor":5}`, 2, nil, is(coord.ErrOtherCluster)},
		"a raised floor is negative": {`{"layout":"l","uuid":"u","identity":"i","workers":8,"floor":-7}`, 2, nil, is(coord.ErrOtherCluster)},
	} {
		s, c := newScripted(t)
		s.history = func(layout Entry) (Entry, error) {
			if layout.Version == 1 && test.found != ours {
				return Entry{}, &MovedError{Found: Entry{Value: []byte(test.found), Version: test.version}, Restored: test.restored}
			}
			return Entry{}, nil
		}
		_, err := c.History(t.Context(), 1)
		if !test.want(err) {
			t.Errorf("%s: %v", name, err)
		}
		_, again := c.cluster.ready()
		if errors.Is(err, coord.ErrOtherCluster) != (again != nil) { // the others are not final
			t.Errorf("%s: %v, and then %v", name, err, again)
		}
	}
}

func TestAClusterOfAnEarlierVersionIsRefusedByName(t *testing.T) {
	s := &scripted{look: Entry{Value: []byte(`{"layout":"l","uuid":"u","workers":8,"above":5}`), Version: 1}}
	c := must.Get(New(s, Config{Identity: coord.Identity{Incarnation: "a"}}))(t)
	_, err := c.Join(t.Context(), coord.Layout{Text: "l", Workers: 8})
	if err == nil || !strings.Contains(err.Error(), "made by an earlier version") || !strings.Contains(err.Error(), "flakeward cluster create") || strings.Contains(err.Error(), "damaged") {
		t.Errorf("joining it gave %v", err)
	}
}
