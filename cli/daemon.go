package cli

import (
	"io"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	urfave "github.com/urfave/cli/v2"
)

const (
	daemonName = "daemon"
	logName    = "flakeward"
)

// logLevels are the levels that can be asked for, besides off.
var logLevels = []string{"trace", "debug", "info", "warn", "error"}

func daemonCommand(own paths, s *settings, serve Serve) *urfave.Command {
	return withConfig(&urfave.Command{
		Name:  daemonName,
		Usage: "hand out IDs on a Unix socket until it is told to stop",
		Description: "Runs in the foreground. SIGTERM or SIGINT ends it after accepted requests are answered;\n" +
			"a second one ends it at once, which is safe too and costs the next start about a --journal-step.\n" +
			"Each flag can also be given as a variable or in the file that --config names.\n" +
			"Flags win over variables, variables over the file.",
		Flags: s.flags(),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			log, err := s.logger(c.App.ErrWriter)
			if err != nil {
				return err
			}
			config := s.daemon
			config.Version, config.Log = Version(), log
			if err := config.Validate(); err != nil {
				return &usageError{err}
			}
			if err := own.makeDir(config.Socket.Path); err != nil {
				return err
			}
			return serve(c.Context, config)
		},
	})
}

// logger makes the log that the settings ask for.
func (s *settings) logger(out io.Writer) (hclog.Logger, error) {
	name := strings.ToLower(s.logLevel)
	if name != "off" && !slices.Contains(logLevels, name) {
		return nil, usagef("--log-level: %s", unknownName("level", s.logLevel, logLevels, "flakeward daemon --help"))
	}
	return hclog.New(&hclog.LoggerOptions{
		Name:       logName,
		Level:      hclog.LevelFromString(name),
		JSONFormat: s.logJSON,
		Output:     out,
	}), nil
}
