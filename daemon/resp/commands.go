package resp

import (
	"slices"
	"strings"
)

// command is one row of the table of commands. COMMAND is made from it too.
type command struct {
	name     string // in capitals
	min, max int    // arguments after the name; max -1: any number
	args     []argument
	run      func(h *Handler, s *Session, args [][]byte, out []byte) []byte
	direct   bool // run at once within MULTI
}

// direct are the commands that MULTI does not queue.
var direct = []string{"DISCARD", "EXEC", "MULTI", "QUIT", "RESET", "WATCH"}

// opening are the commands that run before the password was accepted.
var opening = []string{"AUTH", "HELLO", "QUIT", "RESET"}

// argument is one argument of a command, as its usage shows it.
type argument struct {
	name     string
	token    string // a word that stands before it
	optional bool
}

const (
	nextUsage   = "NEXT [count] [TENANT tenant] [AS form]"
	runUsage    = "RUN count [TENANT tenant]"
	decodeUsage = "DECODE id [AS form]"
)

// numbered is a command with its place in the table.
type numbered struct {
	*command
	number int  // 0 is NEXT
	opens  bool // it runs before the password was accepted
}

// commands is the table of commands.
type commands struct {
	byName   map[string]numbered
	names    []string // sorted
	numbered []string // by their numbers
}

// The table is reached through the Handler only: some of its functions show it, and Go does not let
// it depend on itself.
var allCommands = makeCommands()

func makeCommands() commands {
	tenant := argument{name: "tenant", token: "TENANT", optional: true}
	as := argument{name: "form", token: "AS", optional: true}
	text := func(name string, optional bool) argument { return argument{name: name, optional: optional} }
	table := commands{byName: make(map[string]numbered)}
	for number, c := range []command{
		{"NEXT", 0, 5, []argument{text("count", true), tenant, as}, (*Handler).next, false},
		{"RUN", 1, 5, []argument{text("count", false), tenant}, (*Handler).runs, false},
		{"DECODE", 1, 3, []argument{text("id", false), as}, (*Handler).decode, false},
		{"FORM", 0, 1, []argument{text("form", true)}, setForm, false},
		{"INFO", 0, -1, []argument{text("section", true)}, (*Handler).info, false},
		{"PING", 0, 1, []argument{text("message", true)}, (*Handler).ping, false},
		{"ECHO", 1, 1, []argument{text("message", false)}, (*Handler).echo, false},
		{"HELLO", 0, -1, []argument{text("protover", true)}, (*Handler).hello, false},
		{"AUTH", 1, 2, []argument{text("username", true), text("password", false)}, auth, false},
		{"CLIENT", 1, -1, []argument{text("subcommand", false), text("value", true)}, (*Handler).client, false},
		{"COMMAND", 0, -1, []argument{text("subcommand", true), text("name", true)}, (*Handler).command, false},
		{"CONFIG", 1, -1, []argument{text("subcommand", false), text("parameter", true)}, config, false},
		{"SELECT", 1, 1, []argument{text("index", false)}, (*Handler).selectDB, false},
		{"SUBSCRIBE", 1, -1, []argument{text("channel", false)}, subscribe, false},
		{"UNSUBSCRIBE", 0, -1, []argument{text("channel", true)}, unsubscribe, false},
		{"PUNSUBSCRIBE", 0, -1, []argument{text("pattern", true)}, punsubscribe, false},
		{"GET", 1, 1, []argument{text("key", false)}, get, false},
		{"DBSIZE", 0, 0, nil, none, false},
		{"MULTI", 0, 0, nil, multi, false},
		{"EXEC", 0, 0, nil, exec, false},
		{"DISCARD", 0, 0, nil, discard, false},
		{"WATCH", 1, -1, []argument{text("key", false)}, watch, false},
		{"UNWATCH", 0, 0, nil, ok, false},
		{"RESET", 0, 0, nil, (*Handler).reset, false},
		{"QUIT", 0, -1, nil, (*Handler).quit, false},
	} {
		c.direct = slices.Contains(direct, c.name)
		table.byName[c.name] = numbered{&c, number, slices.Contains(opening, c.name)}
		table.names = append(table.names, c.name)
		table.numbered = append(table.numbered, c.name)
	}
	slices.Sort(table.names)
	return table
}

// longestName is above the length of every command's name.
const longestName = 16

// find finds a command by its name in any case.
func (t *commands) find(name []byte) (numbered, bool) {
	var capitals [longestName]byte
	if len(name) > len(capitals) {
		return numbered{}, false
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

// lower is b in small letters.
func lower(b []byte) string { return strings.ToLower(string(b)) }

// usage is the command as a person would write it.
func (c *command) usage() string {
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
