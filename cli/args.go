package cli

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/configfile"
)

// flagsFirst moves a command's flags before its arguments, since the library
// stops looking for flags at the first argument: `next 1000 --run` is what
// people type. What follows "--" stays where it is.
func flagsFirst(commands []*urfave.Command, args []string) []string {
	if len(args) < 3 {
		return args
	}
	var command *urfave.Command
	for _, c := range commands {
		if c.HasName(args[1]) {
			command = c
		}
	}
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
		if takesValue[strings.TrimLeft(word, "-")] && i+1 < len(rest) {
			i++
			flags = append(flags, rest[i])
		}
	}
	ordered := append([]string{}, args[:2]...)
	ordered = append(ordered, flags...)
	return append(ordered, arguments...)
}

func flagsWithValue(command *urfave.Command) map[string]bool {
	names := make(map[string]bool)
	for _, f := range command.Flags {
		if documented, ok := f.(urfave.DocGenerationFlag); ok && documented.TakesValue() {
			for _, name := range f.Names() {
				names[name] = true
			}
		}
	}
	return names
}

// noArguments refuses arguments where a command takes none.
func noArguments(c *urfave.Context) error {
	if c.Args().Present() {
		return usagef("%s takes no arguments, but got %q", c.Command.Name, c.Args().First())
	}
	return nil
}

// unknownName says that there is no such thing, and what may have been meant.
func unknownName(kind, name string, names []string, elsewhere string) string {
	if near, ok := configfile.Nearest(name, names); ok {
		return fmt.Sprintf("there is no %s %q: did you mean %q?", kind, name, near)
	}
	return fmt.Sprintf("there is no %s %q: see %s", kind, name, elsewhere)
}
