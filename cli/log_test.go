package cli

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

// A log file that is a pipe holds up neither the start, nor check, nor a SIGHUP: without a reader
// it is refused, and with one the lines arrive.
func TestAPipeThatNobodyReadsIsNoLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(path, 0o600))
	s := &settings{logFile: path, logLevel: "info"}
	within := func(what string, f func() error) error {
		t.Helper()
		ended := make(chan error, 1)
		go func() { ended <- f() }()
		select {
		case err := <-ended:
			return err
		case <-time.After(10 * time.Second):
			t.Fatalf("%s waits for a reader", what)
			return nil
		}
	}
	refused := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, syscall.ENXIO) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "start its reader first") {
			t.Errorf("%s: %v", what, err)
		}
	}
	var log *logFile
	open := func() (err error) {
		log, err = s.openLog(io.Discard)
		return err
	}
	refused("the start", within("the start", open))
	refused("check", within("check", s.checkLogFile))

	reader := must.Get(os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
	must.Do(t, within("the start", open))
	log.logger.Info("a line")
	must.Do(t, reader.SetReadDeadline(time.Now().Add(10*time.Second)))
	if line, err := bufio.NewReader(reader).ReadString('\n'); err != nil || !strings.Contains(line, "a line") {
		t.Errorf("the reader has %q, %v", line, err)
	}
	must.Do(t, reader.Close())
	refused("SIGHUP", within("SIGHUP", log.reopen))
	must.Do(t, log.close(nil))
}
