package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/internal/logging"
)

// logLevels are the levels that can be asked for, besides off.
var logLevels = []string{"trace", "debug", "info", "warn", "error"}

// lastLines is how long an end waits for what is left of the log to be written.
const lastLines = time.Second

// logFile is the log of a running daemon: standard error, or a file.
type logFile struct {
	path   string // empty: standard error
	writer *logging.Writer
	logger hclog.Logger
}

func (s *settings) checkLevel() error {
	if name := strings.ToLower(s.logLevel); name != "off" && !slices.Contains(logLevels, name) {
		return usagef("--log-level: %s", unknownName("level", s.logLevel, logLevels, "flakeward daemon --help"))
	}
	return nil
}

// openLog opens the log that the settings ask for. Its close ends it.
func (s *settings) openLog(stderr io.Writer) (*logFile, error) {
	if err := s.checkLevel(); err != nil {
		return nil, err
	}
	l := &logFile{path: s.logFile, writer: logging.NewWriter(stderr)}
	if err := l.reopen(); err != nil {
		l.writer.Close(lastLines)
		return nil, err
	}
	l.logger = logging.New(&hclog.LoggerOptions{
		Name:       logName,
		Level:      hclog.LevelFromString(s.logLevel),
		JSONFormat: s.logJSON,
		Output:     l.writer,
		// An entry of the journal has a time. An object has all that belongs to the event.
		DisableTime: l.writer.Journal() && !s.logJSON,
	})
	l.writer.OnCaughtUp(func(dropped uint64) {
		l.logger.Warn("dropped lines of the log: they could not be written, or not fast enough", "dropped", dropped)
	})
	return l, nil
}

// reopen opens the file anew, as after a rotation. Standard error stays as it is.
func (l *logFile) reopen() error {
	if l.path == "" {
		return nil
	}
	f, err := openLogFile(l.path, os.O_CREATE)
	if err != nil {
		return err
	}
	l.writer.Replace(f)
	return nil
}

// openLogFile opens a log's file. It does not wait for a pipe's reader.
func openLogFile(path string, flag int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK|flag, 0o640)
	switch {
	case errors.Is(err, syscall.ENXIO):
		return nil, fmt.Errorf("--log-file cannot be opened: %s is a pipe that nobody reads: start its reader first, or name a file (%w)", path, err)
	case err != nil:
		return nil, fmt.Errorf("--log-file cannot be opened: %w", err)
	}
	return f, nil
}

// close ends the log of a daemon that ended with err, and returns err. Report tells standard error
// of it; a file is told here.
func (l *logFile) close(err error) error {
	if err != nil && l.path != "" {
		l.logger.Error(daemonFailed, "error", err)
	}
	l.writer.Close(lastLines)
	return err
}

// signals returns channels of the SIGHUPs and SIGUSR2s that come until stop is called. Until then a
// reader of the log that is gone is an error of the write, and does not end the process.
func signals() (hangups, renewals <-chan os.Signal, stop func()) {
	hangup, renewal, pipe := make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	signal.Notify(renewal, syscall.SIGUSR2)
	signal.Notify(pipe, syscall.SIGPIPE)
	return hangup, renewal, func() {
		signal.Stop(hangup)
		signal.Stop(renewal)
		signal.Stop(pipe)
	}
}
