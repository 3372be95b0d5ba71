// Package cli is flakeward's command line: the commands, their flags, and how
// the daemon's settings are put together from flags, FLAKEWARD_* variables and
// a configuration file. It is the only place that knows flags, and it never
// ends the process: Run returns, and ExitCode says with which status to end.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/daemon"
)

// The statuses that the process ends with.
const (
	ExitOK       = 0
	ExitFailed   = 1 // the command was understood but did not succeed
	ExitUsage    = 2 // wrong arguments, flags, variables or configuration; daemon: its cluster is gone, or another one
	ExitNotReady = 3 // status, health, next: the daemon answers, but cannot issue IDs now
	ExitUnknown  = 4 // explain: all IDs were decoded, but no holder is known for some of them
	ExitNoDaemon = 5 // no daemon listens on the socket
	ExitRefused  = 6 // the daemon refused the request as wrong
)

// usageError is a mistake in what the command was told.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// errNotReady is what status ends with when the daemon is there but not ready.
var errNotReady = errors.New("the daemon cannot issue IDs yet")

// errUnknown is what explain ends with when nobody can be named for an ID.
var errUnknown = errors.New("no holder is known")

// ExitCode returns the status for what Run returned.
func ExitCode(err error) int {
	var usage *usageError
	var refused *client.RefusedError
	var unavailable *client.UnavailableError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage):
		return ExitUsage
	case errors.Is(err, errNoDaemon):
		return ExitNoDaemon
	case errors.As(err, &refused):
		return ExitRefused
	case errors.Is(err, errNotReady), errors.As(err, &unavailable):
		return ExitNotReady
	case errors.Is(err, errUnknown):
		return ExitUnknown
	}
	return ExitFailed
}

// Serve is daemon.Run, or a stand-in.
type Serve func(ctx context.Context, config daemon.Config) error

// Run carries out one command. args begins with the program's name. The command
// ends early when ctx does; the daemon then drains first. Results go to stdout,
// the daemon's log to stderr; the error returned is for Report to print.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, serve Serve) error {
	return newProgram(ownPaths(), realOutside(serve)).run(ctx, args, stdin, stdout, stderr)
}

// program is the command line for one run.
type program struct {
	app      *urfave.App
	settings *settings // of the daemon command
}

func (p *program) run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	p.app.Reader, p.app.Writer, p.app.ErrWriter = stdin, stdout, stderr
	args = p.showSettings(args)
	err := p.app.RunContext(ctx, flagsFirst(p.app.Commands, args))
	if err != nil && p.settings.logsJSON(args) {
		return &loggedError{err}
	}
	return err
}

func newProgram(own paths, out *outside) *program {
	s := defaultSettings(own)
	app := &urfave.App{
		Name:                 "flakeward",
		Usage:                "unique, time-sortable 64-bit IDs for everything on this host",
		Version:              Version(),
		HideHelpCommand:      true,
		EnableBashCompletion: true,
		Flags:                []urfave.Flag{urfave.HelpFlag}, // which the library adds only where no command is called help
		// Only main ends the process, also when an error of the library has a status of its own.
		ExitErrHandler: func(*urfave.Context, error) {},
		OnUsageError:   wrongUsage,
		Action: func(c *urfave.Context) error {
			if !c.Args().Present() {
				return urfave.ShowAppHelp(c)
			}
			return usagef("%s", unknownCommandOf(c.App.Commands, c.Args().First(), "", c.App.Name))
		},
		Commands: []*urfave.Command{
			daemonCommand(own, s, out.serve),
			checkCommand(own, s),
			nextCommand(own),
			decodeCommand(own),
			boundsCommand(own),
			explainCommand(own, out),
			layoutCommand(),
			statusCommand(own, out),
			healthCommand(own),
			claimsCommand(own, out),
			clusterCommand(own, out),
			versionCommand(),
			helpCommand(),
		},
	}
	for _, command := range app.Commands {
		for _, c := range append([]*urfave.Command{command}, command.Subcommands...) {
			c.OnUsageError = wrongUsage
			c.HideHelpCommand = true
			for _, f := range c.Flags {
				if f, ok := f.(*urfave.BoolFlag); ok {
					f.DisableDefaultText = true // it is false
				}
			}
		}
	}
	return &program{app: app, settings: s}
}

// wrongUsage turns what the flag parser says into an error of ours.
func wrongUsage(c *urfave.Context, err error, _ bool) error {
	help := c.App.Name + " --help"
	if c.Command != nil && c.Command.HelpName != "" {
		help = c.Command.HelpName + " --help"
	}
	return usagef("%w: see %s", err, help)
}
