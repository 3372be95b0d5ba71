package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	urfave "github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/logging"
)

const (
	checkName            = "check"
	checkCoordinatorName = "check-coordinator"
	reloadName           = "reload"
)

// checkFlags have the daemon command look, or ask the running daemon, and serve nothing. They are no
// settings.
func checkFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.BoolFlag{Name: checkName, Usage: "say all that would be refused of the settings and on this host, write nothing, and end"},
		&urfave.BoolFlag{Name: checkCoordinatorName, Usage: "the same, and ask the coordinator whether this daemon fits into its cluster"},
		&urfave.BoolFlag{Name: reloadName, Usage: "have the running daemon of these settings start the program anew under systemd, wait until that has taken over, and end"},
	}
}

// check says what a start would be refused for.
func (s *settings) check(c *urfave.Context) error {
	config := s.daemon
	config.Version = Version()
	config.Log = logging.New(&hclog.LoggerOptions{Name: logName, Level: hclog.Warn, Output: c.App.ErrWriter})
	wrong := config.Validate()
	if err := errors.Join(wrong, s.checkLevel()); err != nil {
		wrong = &usageError{err}
	}
	err := errors.Join(wrong, config.Check(), s.checkLogFile())
	if wrong == nil && c.Bool(checkCoordinatorName) {
		found, e := config.CheckCoordinator(c.Context)
		if e == nil {
			fmt.Fprintln(c.App.Writer, found)
		}
		err = errors.Join(err, e)
	}
	if err == nil {
		fmt.Fprintln(c.App.Writer, "nothing would be refused")
	}
	return err
}

// checkLogFile returns why the log could not be written to its file. It makes no file.
func (s *settings) checkLogFile() error {
	if s.logFile == "" {
		return nil
	}
	f, err := openLogFile(s.logFile, 0)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(s.logFile)
	if err = unix.Access(dir, unix.W_OK|unix.X_OK); err == nil {
		return nil
	}
	return fmt.Errorf("--log-file cannot be opened: %w", &fs.PathError{Op: "access", Path: dir, Err: err})
}
