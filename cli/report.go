package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/internal/logging"
)

// loggedError is an error at the end of a log in JSON, and belongs into it.
type loggedError struct{ err error }

func (e *loggedError) Error() string { return e.err.Error() }
func (e *loggedError) Unwrap() error { return e.err }

// daemonFailed is how the log of a daemon that failed ends.
const daemonFailed = "the daemon command failed"

// Report prints the error that Run returned, if any, on one line: in JSON if the
// log was to be, whatever its level. It does not wait long for a reader.
func Report(to io.Writer, err error) {
	out := logging.NewWriter(to)
	defer out.Close(lastLines)
	var logged *loggedError
	switch {
	case err == nil:
	case errors.As(err, &logged):
		log := logging.New(&hclog.LoggerOptions{Name: logName, Level: hclog.Error, JSONFormat: true, Output: out})
		log.Error(daemonFailed, "error", err)
	default:
		_, _ = out.LevelWrite(hclog.Error, fmt.Appendln(nil, "flakeward:", err)) // it returns no error
	}
}

// logsJSON reports whether args are of a daemon whose log is in JSON, also if a wrong flag kept
// those after it from being read.
func (s *settings) logsJSON(args []string) bool {
	return len(args) > 1 && args[1] == daemonName && (s.logJSON || slices.Contains(args[2:], "--log-json"))
}
