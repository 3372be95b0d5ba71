package logging_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/internal/logging"
	"github.com/flakeward/flakeward/internal/must"
)

// stream makes a file and has systemd's variable name it, or another one.
func stream(t *testing.T, inode uint64) *os.File {
	t.Helper()
	f := must.Get(os.Create(filepath.Join(t.TempDir(), "stderr")))(t)
	t.Cleanup(func() { f.Close() })
	stat := must.Get(f.Stat())(t).Sys().(*syscall.Stat_t)
	t.Setenv("JOURNAL_STREAM", fmt.Sprintf("%d:%d", stat.Dev, stat.Ino+inode))
	return f
}

func logAll(t *testing.T, w *logging.Writer, asJSON bool) {
	t.Helper()
	log := logging.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: w, DisableTime: true, JSONFormat: asJSON})
	for level := hclog.Trace; level <= hclog.Error; level++ {
		log.Log(level, "line", "text", "two\nlines")
	}
	if !w.Close(10 * time.Second) {
		t.Error("the log was not written")
	}
}

// Each line has its level as a priority, also each of an entry of several lines.
func TestTheJournalIsToldTheLevel(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		f := stream(t, 0)
		w := logging.NewWriter(f)
		if !w.Journal() {
			t.Error("the journal is not found")
		}
		logAll(t, w, asJSON)
		lines := strings.Split(strings.TrimSuffix(string(must.Get(os.ReadFile(f.Name()))(t)), "\n"), "\n")
		each := len(lines) / 5
		if len(lines) != 5*each || each == 0 {
			t.Fatalf("%d lines for five levels: %q", len(lines), lines)
		}
		for i, line := range lines {
			if want := []string{"<7>", "<7>", "<6>", "<4>", "<3>"}[i/each]; !strings.HasPrefix(line, want) {
				t.Errorf("line %d is %q, want %s before it", i, line, want)
			}
		}
	}
}

// A terminal, a pipe or a file gets no priorities, also where the variable was inherited, and
// neither does the file that takes the journal's place.
func TestOthersThanTheJournalAreNotToldTheLevel(t *testing.T) {
	f := stream(t, 1)
	w := logging.NewWriter(f)
	logAll(t, w, false)
	if text := must.Get(os.ReadFile(f.Name()))(t); w.Journal() || !strings.HasPrefix(string(text), "[TRACE]") {
		t.Errorf("a file that is not the journal got %q", text)
	}
	journal := stream(t, 0)
	w = logging.NewWriter(journal)
	file := must.Get(os.Create(filepath.Join(t.TempDir(), "log")))(t)
	w.Replace(file)
	logAll(t, w, false)
	if text := must.Get(os.ReadFile(file.Name()))(t); w.Journal() || !strings.HasPrefix(string(text), "[TRACE]") {
		t.Errorf("the file in the journal's place got %q", text)
	}
}
