package cli

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/internal/nearest"
)

// flagsFirst moves a command's flags before its arguments, since the library
// stops looking for flags at the first argument: `next 1000 --run` is what
// people type. The name of a subcommand goes before the flags, which are all its.
// What follows "--" stays where it is, and so does everything if the last flag lacks its value, or
// if a shell asks for completion: its request is the last word.
func flagsFirst(commands []*urfave.Command, args []string) []string {
	if len(args) < 3 || args[len(args)-1] == "--generate-bash-completion" {
		return args
	}
	command := named(commands, args[1])
	if command == nil {
		return args
	}
	rest := args[2:]
	takesValue := flagsWithValue(command)
	var flags, arguments []string
	for i := 0; i < len(rest); i++ {
		word := rest[i]
		if word == "--" {
			arguments = append(arguments, rest[i:]...)
			break
		}
		if !strings.HasPrefix(word, "-") || word == "-" {
			arguments = append(arguments, word)
			continue
		}
		flags = append(flags, word)
		if takesValue[strings.TrimLeft(word, "-")] {
			if i++; i == len(rest) {
				return args // nothing is moved behind a flag that lacks its value: it would be taken for that
			}
			flags = append(flags, rest[i])
		}
	}
	ordered := append([]string{}, args[:2]...)
	if len(arguments) > 0 && named(command.Subcommands, arguments[0]) != nil {
		ordered, arguments = append(ordered, arguments[0]), arguments[1:]
	}
	ordered = append(ordered, flags...)
	return append(ordered, arguments...)
}

// named finds a command, or nil.
func named(commands []*urfave.Command, name string) *urfave.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

// flagsWithValue are the names of the flags, of a command and of those below it,
// that take the next word for their value.
func flagsWithValue(command *urfave.Command) map[string]bool {
	names := make(map[string]bool)
	for _, c := range append([]*urfave.Command{command}, command.Subcommands...) {
		for _, f := range c.Flags {
			if documented, ok := f.(urfave.DocGenerationFlag); ok && documented.TakesValue() {
				for _, name := range f.Names() {
					names[name] = true
				}
			}
		}
	}
	return names
}

// commandName is what people type for a command, such as "cluster raise".
func commandName(c *urfave.Context) string {
	return strings.TrimPrefix(c.Command.HelpName, c.App.Name+" ")
}

// noArguments refuses arguments where a command takes none.
func noArguments(c *urfave.Context) error {
	if c.Args().Present() {
		return usagef("%s takes no arguments, but got %q", commandName(c), c.Args().First())
	}
	return nil
}

// noSubcommand refuses an argument where only the name of a subcommand may stand.
func noSubcommand(c *urfave.Context) error {
	if !c.Args().Present() {
		return nil
	}
	return usagef("%s", unknownCommandOf(c.Command.Subcommands, c.Args().First(), commandName(c)+" ", c.Command.HelpName))
}

func unknownCommandOf(commands []*urfave.Command, name, prefix, help string) string {
	names := make([]string, 0, len(commands))
	for _, command := range commands {
		names = append(names, command.Name)
	}
	return unknownName(prefix+"command", name, names, help+" --help")
}

// unknownName says that there is no such thing, and what may have been meant.
func unknownName(kind, name string, names []string, elsewhere string) string {
	if near, ok := nearest.Name(name, names); ok {
		return fmt.Sprintf("there is no %s %q: did you mean %q?", kind, name, near)
	}
	return fmt.Sprintf("there is no %s %q: see %s", kind, name, elsewhere)
}
