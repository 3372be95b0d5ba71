package cli

import (
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/systemd"
)

const (
	daemonName = "daemon"
	logName    = "flakeward"

	takeoverName = "takeover"
)

// successor starts the program that args name now, with the same arguments, to take over.
func successor(s *systemd.Service, args []string) func() (*systemd.Started, error) {
	return func() (*systemd.Started, error) {
		program, err := exec.LookPath(args[0])
		if err != nil {
			return nil, err
		}
		again := args[1:]
		if flag := "--" + takeoverName; !slices.Contains(again, flag) {
			again = append(slices.Clone(again), flag)
		}
		return s.Start(program, again...)
	}
}

func daemonCommand(own paths, s *settings, serve Serve) *urfave.Command {
	return withConfig(&urfave.Command{
		Name:  daemonName,
		Usage: "issue IDs on a Unix socket until stopped",
		Description: "Runs in the foreground. SIGTERM or SIGINT stops it: it answers the requests that it has accepted, and exits.\n" +
			"A second signal, a second later or more, makes it exit at once; that is safe, and the next start takes\n" +
			"another worker ID. SIGHUP reopens --log-file and reloads certificates and passwords.\n" +
			"SIGUSR2 starts the program anew, as it is now on disk, with --takeover.\n" +
			"Each setting is a flag, a variable or a line of --config. Flags override variables; variables override\n" +
			"the file.\n" + allSettings(daemonName),
		Flags: s.flags(),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			config := s.daemon
			if err := config.Validate(); err != nil {
				return &usageError{err}
			}
			if err := own.make(config.Socket.Path, config.Cluster.Coord); err != nil {
				return err
			}
			if os.Getenv("GOMEMLIMIT") == "" {
				debug.SetMemoryLimit(budget.FindMemory(config.Memory).Runtime())
			}
			hangups, renewals, stop := signals() // before the first line of the log
			defer stop()
			log, err := s.openLog(c.App.ErrWriter)
			if err != nil {
				return err
			}
			strange, _ := strangeVariables(os.Environ())
			for _, name := range strange {
				log.logger.Warn("ignoring a variable that is not a setting: flakeward daemon --help --all has all settings", "variable", name)
			}
			config.Version, config.Log, config.LogDropped, config.ReopenLog = Version(), log.logger, log.writer.Dropped, log.reopen
			config.Reload, config.Renew = hangups, renewals
			if config.Service, err = systemd.FromEnvironment(); err != nil {
				return log.close(err)
			}
			config.Successor = successor(config.Service, os.Args)
			err = serve(c.Context, config)
			if errors.Is(err, coord.ErrOtherCluster) {
				err = &usageError{err} // to start it again is a person's decision
			}
			return log.close(errors.Join(err, config.Service.Close()))
		},
	})
}
