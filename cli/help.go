package cli

import (
	"slices"

	urfave "github.com/urfave/cli/v2"
)

const (
	helpName = "help"
	helpFlag = "--help"
	allFlag  = "--all" // beside --help alone
)

// mainSettings are the settings that --help shows without --all.
var mainSettings = []string{
	configName, socketName, "socket-mode", "socket-group", "layout", "coord", "coord-ca", "coord-user", "coord-password-file",
	"rate", "log-level",
}

// allSettings says where a command's help has its other flags.
func allSettings(command string) string {
	return "This help shows the settings that most need; flakeward " + command + " " + helpFlag + " " + allFlag + " shows all."
}

func helpCommand() *urfave.Command {
	return &urfave.Command{
		Name:        helpName,
		Usage:       "show the help of a command",
		ArgsUsage:   "[COMMAND...]",
		Description: "flakeward help cluster raise is flakeward cluster raise " + helpFlag + ".",
		Action: func(c *urfave.Context) error {
			commands, prefix, name := c.App.Commands, "", c.App.Name
			for _, word := range c.Args().Slice() {
				command := named(commands, word)
				if command == nil {
					return usagef("%s", unknownCommandOf(commands, word, prefix, name))
				}
				commands, prefix, name = command.Subcommands, prefix+command.Name+" ", name+" "+command.Name
			}
			return c.App.RunContext(c.Context, slices.Concat([]string{c.App.Name}, c.Args().Slice(), []string{helpFlag}))
		},
	}
}

// showSettings hides the settings that most do not need from a help that is asked for without
// --all, and returns args without that.
func (p *program) showSettings(args []string) []string {
	if len(args) < 2 || args[1] != helpName && !slices.Contains(args, helpFlag) && !slices.Contains(args, "-h") {
		return args
	}
	if all := slices.Index(args, allFlag); all > 0 {
		return slices.Delete(slices.Clone(args), all, all+1)
	}
	for _, name := range []string{daemonName, checkName} {
		for _, f := range named(p.app.Commands, name).Flags {
			if !slices.Contains(mainSettings, f.Names()[0]) {
				fieldOf(f, "Hidden").SetBool(true)
			}
		}
	}
	return args
}
