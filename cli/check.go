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

const checkName = "check"

// checkCommand lists what a start would be refused for. What it finds is its result, and no mistake
// in how it was called.
func checkCommand(own paths, s *settings) *urfave.Command {
	command := withConfig(&urfave.Command{
		Name:  checkName,
		Usage: "check the daemon's settings, this host and the coordinator; list every problem",
		Description: "Takes the daemon's settings: give the same --config, FLAKEWARD_* variables and flags, and run it as the\n" +
			"daemon's user. It changes nothing, here or in the coordinator. A running daemon does not matter.\n" +
			"Exits with status 0 if the daemon would start, 1 if there is a problem.\n" + allSettings(checkName),
		Flags: s.flags(),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			return found(s.check(c, own))
		},
	})
	read := command.Before
	command.Before = func(c *urfave.Context) error { return found(read(c)) }
	return command
}

// found returns an error with the text of err that is no usage error.
func found(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.Error())
}

// check returns what a start would be refused for. A coordinator is asked only with right settings.
func (s *settings) check(c *urfave.Context, own paths) error {
	config := s.daemon
	config.Version = Version()
	config.Log = logging.New(&hclog.LoggerOptions{Name: logName, Level: hclog.Warn, Output: c.App.ErrWriter})
	wrong := errors.Join(config.Validate(), s.checkLevel())
	first := config
	first.Cluster.Coord = own.firstMade(config.Cluster.Coord)
	err := errors.Join(wrong, first.Check(), s.checkLogFile())
	answer := "the coordinator was not asked: fix the settings first"
	if wrong == nil {
		var unfit error
		answer, unfit = config.CheckCoordinator(c.Context)
		err = errors.Join(err, unfit)
	}
	if answer != "" {
		fmt.Fprintln(c.App.Writer, answer)
	}
	if err == nil {
		fmt.Fprintln(c.App.Writer, "OK: the daemon would start")
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
