package resp

import (
	"slices"
	"strings"
)

// command is one row of the table of commands. COMMAND and COMMAND DOCS are made from it too.
type command struct {
	name     string // in capitals
	summary  string
	group    string // of redis-cli's help
	since    string // the version of this server that brought it
	min, max int    // arguments after the name; max -1: any number
	args     []argument
	run      func(h *Handler, s *Session, args [][]byte, out []byte) []byte
}

// argument is one argument of a command, as redis-cli hints at it.
type argument struct {
	name     string
	kind     string // of the protocol's names: integer, string, pure-token
	token    string // a word that stands before it
	optional bool
}

const (
	nextUsage = "NEXT [count] [TENANT tenant]"
	runUsage  = "RUN count [TENANT tenant]"
)

// commands is the table of commands.
type commands struct {
	byName map[string]command
	names  []string // sorted
}

// The table is reached through the Handler only: some of its functions show it, and Go does not let
// it depend on itself.
var allCommands = makeCommands()

func makeCommands() commands {
	count := argument{name: "count", kind: "integer"}
	maybeCount := argument{name: "count", kind: "integer", optional: true}
	tenant := argument{name: "tenant", kind: "integer", token: "TENANT", optional: true}
	text := func(name string, optional bool) argument {
		return argument{name: name, kind: "string", optional: optional}
	}
	table := commands{byName: make(map[string]command)}
	for _, c := range []command{
		{"NEXT", "Gives the next ID, or an array of as many as asked for.", "generic", "0.1.0", 0, 3, []argument{maybeCount, tenant}, (*Handler).next},
		{"RUN", "Gives IDs as runs: the step between neighbours, then the first ID and the length of each run.", "generic", "0.1.0", 1, 3, []argument{count, tenant}, (*Handler).runs},
		{"DECODE", "Shows the fields of an ID.", "generic", "0.1.0", 1, 1, []argument{{name: "id", kind: "integer"}}, (*Handler).decode},
		{"INFO", "Shows the state of the daemon.", "server", "0.1.0", 0, -1, []argument{text("section", true)}, (*Handler).info},
		{"PING", "Answers PONG, or the message.", "connection", "0.1.0", 0, 1, []argument{text("message", true)}, (*Handler).ping},
		{"ECHO", "Answers the message.", "connection", "0.1.0", 1, 1, []argument{text("message", false)}, (*Handler).echo},
		{"HELLO", "Tells about the server and chooses the protocol's version.", "connection", "0.1.0", 0, -1, []argument{{name: "protover", kind: "integer", optional: true}}, (*Handler).hello},
		{"CLIENT", "Names the connection.", "connection", "0.1.0", 1, -1, []argument{text("subcommand", false), text("value", true)}, (*Handler).client},
		{"COMMAND", "Lists the commands.", "server", "0.1.0", 0, -1, []argument{text("subcommand", true), text("name", true)}, (*Handler).command},
		{"CONFIG", "Is there for clients that ask for parameters of Redis.", "server", "0.1.0", 1, -1, []argument{text("subcommand", false), text("parameter", true)}, (*Handler).configGet},
		{"SELECT", "Accepts database 0.", "connection", "0.1.0", 1, 1, []argument{{name: "index", kind: "integer"}}, (*Handler).selectDB},
		{"RESET", "Forgets the connection's name and version of the protocol.", "connection", "0.1.0", 0, 0, nil, (*Handler).reset},
		{"QUIT", "Closes the connection once all replies are sent.", "connection", "0.1.0", 0, -1, nil, (*Handler).quit},
	} {
		table.byName[c.name] = c
		table.names = append(table.names, c.name)
	}
	slices.Sort(table.names)
	return table
}

// longestName is above the length of every command's name.
const longestName = 16

// find finds a command by its name in any case.
func (t *commands) find(name []byte) (command, bool) {
	var capitals [longestName]byte
	if len(name) > len(capitals) {
		return command{}, false
	}
	for i, c := range name {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		capitals[i] = c
	}
	c, ok := t.byName[string(capitals[:len(name)])]
	return c, ok
}

// is tells whether b is the word, which is in capitals, in any case.
func is(b []byte, word string) bool {
	return len(b) == len(word) && strings.EqualFold(string(b), word)
}

// usage is the command as a person would write it.
func (c command) usage() string {
	var b strings.Builder
	b.WriteString(c.name)
	for _, a := range c.args {
		text := a.name
		if a.token != "" {
			text = a.token + " " + text
		}
		if a.optional {
			text = "[" + text + "]"
		}
		b.WriteString(" " + text)
	}
	return b.String()
}
