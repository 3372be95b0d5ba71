package logging

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/hashicorp/go-hclog"
)

// isJournal reports whether lines that are written to out become entries of systemd's journal.
// systemd puts the device and inode of a service's standard output or error into JOURNAL_STREAM.
func isJournal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && os.Getenv("JOURNAL_STREAM") == fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// priority is a level as a priority of syslog, which the journal reads at the beginning of a line
// as sd-daemon(3) has it.
func priority(level hclog.Level) string {
	switch {
	case level >= hclog.Error:
		return "<3>"
	case level == hclog.Warn:
		return "<4>"
	case level == hclog.Info:
		return "<6>"
	}
	return "<7>"
}

// LevelWrite implements hclog.LevelWriter: it is Write, and tells the journal the level.
func (w *Writer) LevelWrite(level hclog.Level, text []byte) (int, error) {
	if !w.Journal() {
		return w.Write(text)
	}
	var entry []byte
	for line := range bytes.Lines(text) { // each line becomes an entry
		entry = append(append(entry, priority(level)...), line...)
	}
	_, err := w.Write(entry)
	return len(text), err
}

// Journal reports whether the lines become entries of systemd's journal, which gives each a time.
func (w *Writer) Journal() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.journal
}
