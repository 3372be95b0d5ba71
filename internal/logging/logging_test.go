package logging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/internal/logging"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
)

// stuck is an output that blocks until it is let go, and then fails with an error or keeps what is
// written.
type stuck struct {
	mu   sync.Mutex
	free chan struct{}
	err  error
	text bytes.Buffer
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.free
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	return s.text.Write(p)
}

func (s *stuck) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *stuck) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestWriteNeverWaitsAndWhatIsDroppedIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &stuck{free: make(chan struct{})}
		w := logging.NewWriter(out)
		log := logging.New(&hclog.LoggerOptions{Output: w, DisableTime: true})
		w.OnCaughtUp(func(dropped uint64) { log.Warn("dropped", "lines", dropped) })
		w.Write([]byte("first\n"))
		synctest.Wait() // it is being written
		line := []byte(strings.Repeat("x", 1023) + "\n")
		const lines = 1000
		for range lines {
			w.Write(line)
		}
		dropped := w.Dropped()
		if dropped == 0 || dropped > lines-256 {
			t.Fatalf("%d of %d lines of 1 KiB were dropped", dropped, lines)
		}
		close(out.free)
		synctest.Wait()
		text := out.String()
		if got := uint64(strings.Count(text, "xxx\n")); got != lines-dropped {
			t.Errorf("%d lines were written and %d dropped, of %d", got, dropped, lines)
		}
		if want := "lines=" + itoa(dropped) + "\n"; strings.Count(text, "dropped: ") != 1 || !strings.HasSuffix(text, want) {
			t.Errorf("the log ends with %q, want %q", text[max(0, len(text)-80):], want)
		}
		if !w.Close(time.Second) {
			t.Error("the end was waited for in vain")
		}
	})
}

func itoa(n uint64) string { b, _ := json.Marshal(n); return string(b) }

func TestLinesThatCannotBeWrittenAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &stuck{free: make(chan struct{}), err: errors.New("broken pipe")}
		close(out.free)
		w := logging.NewWriter(out)
		var said []uint64
		w.OnCaughtUp(func(dropped uint64) { said = append(said, dropped) })
		w.Write([]byte("one\n"))
		w.Write([]byte("two\n"))
		synctest.Wait()
		out.fail(nil)
		w.Write([]byte("three\n"))
		synctest.Wait()
		if w.Dropped() != 2 || len(said) != 1 || said[0] != 2 || out.String() != "three\n" {
			t.Errorf("%d dropped, said %v, written %q", w.Dropped(), said, out.String())
		}
		w.Close(time.Second)
	})
}

func TestCloseWaitsForWhatIsQueuedButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &stuck{free: make(chan struct{})}
		w := logging.NewWriter(out)
		w.Write([]byte("last\n"))
		began := time.Now()
		if w.Close(time.Second) || time.Since(began) != time.Second {
			t.Errorf("closed after %v", time.Since(began))
		}
		w.Write([]byte("too late\n"))
		close(out.free)
		if !w.Close(time.Second) || out.String() != "last\n" || w.Dropped() != 1 {
			t.Errorf("written %q, dropped %d", out.String(), w.Dropped())
		}
	})
}

func TestReplaceGoesOnInAnotherFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := logging.NewWriter(io.Discard)
		var files []*os.File
		for _, name := range []string{"first", "second"} {
			f := must.Get(os.Create(filepath.Join(t.TempDir(), name)))(t)
			files = append(files, f)
			w.Replace(f)
			w.Write([]byte(name + "\n"))
			synctest.Wait()
		}
		w.Close(time.Second)
		for i, want := range []string{"first\n", "second\n"} {
			if got, err := os.ReadFile(files[i].Name()); err != nil || string(got) != want {
				t.Errorf("file %d has %q, %v", i, got, err)
			}
			if _, err := files[i].Write(nil); !errors.Is(err, os.ErrClosed) {
				t.Errorf("file %d is open still: %v", i, err)
			}
		}
	})
}

func TestJSONHasUnits(t *testing.T) {
	var out bytes.Buffer
	log := logging.New(&hclog.LoggerOptions{Output: &out, JSONFormat: true})
	log.Named("grant").With("step", time.Second).Warn("x", "in", 1500*time.Millisecond, "ends", time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), "n", 3)
	var line map[string]any
	must.Do(t, json.Unmarshal(out.Bytes(), &line))
	for key, want := range map[string]any{"step": "1s", "in": "1.5s", "ends": "2026-01-02T03:04:05.006Z", "n": 3.0} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
}

// limited is a limited log of lines with the time left out, and its clock.
func limited() (hclog.Logger, *logtest.Buffer, *clocktest.Manual) {
	out, clock := &logtest.Buffer{}, clocktest.NewManual(time.Unix(1_800_000_000, 0))
	return logging.Limit(logging.New(&hclog.LoggerOptions{Output: out, DisableTime: true}), time.Second, clock), out, clock
}

func same(t *testing.T, out *logtest.Buffer, want string) {
	t.Helper()
	if out.String() != want {
		t.Errorf("logged\n%swant\n%s", out, want)
	}
}

// What is left out is counted in the next line.
func TestEachMessageIsLimitedAloneAndWhatIsLeftOutIsCounted(t *testing.T) {
	log, out, clock := limited()
	serve := log.Named("serve")
	for n := range 5 {
		serve.Warn("flood", "from", n)
		clock.Advance(100 * time.Millisecond)
	}
	serve.Warn("other")
	serve.Debug("not logged")
	want := "[WARN]  serve: flood: from=0\n[WARN]  serve: other\n"
	same(t, out, want)
	clock.Advance(500 * time.Millisecond)
	for n := range 2 {
		serve.Warn("flood", "from", n)
	}
	want += "[WARN]  serve: flood: from=0 left_out=4\n"
	same(t, out, want)
	clock.Advance(2 * time.Second)
	serve.Warn("other")
	same(t, out, want+"[WARN]  serve: other\n")
}

// One user's lines hide neither those of another user nor those with another code.
func TestLinesOfAnotherCodeOrUserAreLimitedAlone(t *testing.T) {
	log, out, _ := limited()
	for range 2 {
		for _, args := range [][]any{{"code", "full", "user", "a"}, {"code", "full", "user", "b"}, {"code", "memory", "user", "a"}} {
			log.Warn("refused", args...)
		}
	}
	same(t, out, "[WARN]  refused: code=full user=a\n[WARN]  refused: code=full user=b\n[WARN]  refused: code=memory user=a\n")
}

// Many users do not make many lines, nor does the log remember all of them.
func TestTheLimitHoldsForManyUsers(t *testing.T) {
	log, out, clock := limited()
	for round := range 2 {
		before := strings.Count(out.String(), "\n")
		for n := range 1000 {
			log.Warn("refused", "user", n)
		}
		if n := strings.Count(out.String(), "\n") - before; n < 2 || n > 65 {
			t.Errorf("round %d: of 1000 users, %d had a line", round, n)
		}
		clock.Advance(2 * time.Second)
	}
}
