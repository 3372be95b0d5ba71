package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// shells are those a completion script is there for.
var shells = []string{"bash", "zsh", "fish"}

// completionRequest is the last word of a command line that asks how the word
// before it may go on. The scripts for bash and zsh ask so, and are never out
// of date. Where there is no answer, they offer files.
const completionRequest = "--generate-completion"

const bashCompletion = `# flakeward's completion for bash: source <(flakeward completion bash)
_flakeward() {
	local IFS=$'\n'
	COMPREPLY=($("${COMP_WORDS[@]:0:COMP_CWORD+1}" ` + completionRequest + ` 2>/dev/null))
}
complete -o bashdefault -o default -F _flakeward flakeward
`

const zshCompletion = `#compdef flakeward
# flakeward's completion for zsh: source <(flakeward completion zsh), after compinit
_flakeward() {
	local -a choices
	choices=("${(@f)$("${(@)words[1,CURRENT]}" ` + completionRequest + ` 2>/dev/null)}")
	if [[ -n "${choices[1]}" ]]; then
		compadd -a choices
	else
		_files
	fi
}
compdef _flakeward flakeward
`

// flagValues are the values of flags that have few of them.
var flagValues = map[string][]string{
	"layout":         generator.Presets(),
	"log-level":      append(slices.Clone(logLevels), "off"),
	"burst-order":    {daemon.OrderConnection, daemon.OrderNone},
	"sequence-start": {daemon.StartRolling, daemon.StartZero},
	"form":           form.Names(),
	asName:           form.Names(),
}

// fishValues is what the library's script for fish lacks: arguments and values of flags. -f keeps
// files from being offered beside them, and -x as well.
func fishValues(commands []*urfave.Command) string {
	text := "complete -c flakeward -n '__fish_seen_subcommand_from " + completionName + "' -f -a '" + strings.Join(shells, " ") + "'\n"
	for _, c := range commands {
		for _, f := range c.Flags {
			if name := f.Names()[0]; flagValues[name] != nil {
				text += fmt.Sprintf("complete -c flakeward -n '__fish_seen_subcommand_from %s' -l %s -x -a '%s'\n", c.Name, name, strings.Join(flagValues[name], " "))
			}
		}
	}
	return text
}

const completionName = "completion"

func completionCommand() *urfave.Command {
	return &urfave.Command{
		Name:        completionName,
		Usage:       "print a completion script for a shell",
		ArgsUsage:   strings.Join(shells, "|"),
		Description: "bash, zsh: source <(flakeward completion bash). fish: flakeward completion fish | source.",
		Action: func(c *urfave.Context) error {
			if c.NArg() != 1 || !slices.Contains(shells, c.Args().First()) {
				return usagef("completion takes the name of one shell: bash, zsh or fish")
			}
			script := bashCompletion
			switch c.Args().First() {
			case "zsh":
				script = zshCompletion
			case "fish":
				var err error
				if script, err = c.App.ToFishCompletion(); err != nil {
					return fmt.Errorf("making the script: %w", err)
				}
				script += fishValues(c.App.Commands)
			}
			_, err := io.WriteString(c.App.Writer, script)
			return err
		},
	}
}

// choices are the ways in which the last of words, a command line without the
// program's name, may go on.
func choices(commands []*urfave.Command, words []string) []string {
	if len(words) == 0 {
		return nil
	}
	before, current := words[:len(words)-1], words[len(words)-1]
	flags := []urfave.Flag{urfave.HelpFlag, urfave.VersionFlag}
	var others []string
	if len(before) == 0 {
		for _, command := range commands {
			others = append(others, command.Name)
		}
	} else {
		command := named(commands, before[0])
		if command == nil {
			return nil
		}
		previous := before[len(before)-1]
		if len(before) > 1 && strings.HasPrefix(previous, "-") && flagsWithValue(command)[strings.TrimLeft(previous, "-")] {
			return beginning(flagValues[strings.TrimLeft(previous, "-")], current) // or files, where it has none
		}
		below := subcommand(command, before[1:])
		if below != nil {
			command = below
		}
		for _, c := range command.Subcommands {
			others = append(others, c.Name)
		}
		flags = append(slices.Clone(command.Flags), urfave.HelpFlag)
		if command.Name == completionName {
			others = shells
		}
	}
	if strings.HasPrefix(current, "-") {
		others = nil
		for _, f := range flags {
			others = append(others, "--"+f.Names()[0])
		}
	}
	return beginning(others, current)
}

func beginning(words []string, with string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return !strings.HasPrefix(word, with) })
}
