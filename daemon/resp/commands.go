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
	direct   bool // run at once within MULTI
}

// direct are the commands that MULTI does not queue.
var direct = []string{"DISCARD", "EXEC", "MULTI", "QUIT", "RESET", "WATCH"}

// opening are the commands that run before the password was accepted.
var opening = []string{"AUTH", "HELLO", "QUIT", "RESET"}

// argument is one argument of a command, as redis-cli hints at it.
type argument struct {
	name     string
	kind     string // of the protocol's names: integer, string, pure-token
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
	count := argument{name: "count", kind: "integer"}
	maybeCount := argument{name: "count", kind: "integer", optional: true}
	tenant := argument{name: "tenant", kind: "string", token: "TENANT", optional: true}
	as := argument{name: "form", kind: "string", token: "AS", optional: true}
	text := func(name string, optional bool) argument {
		return argument{name: name, kind: "string", optional: optional}
	}
	table := commands{byName: make(map[string]numbered)}
	for number, c := range []command{
		{"NEXT", "Gives the next ID, or an array of as many as asked for.", "generic", "0.1.0", 0, 5, []argument{maybeCount, tenant, as}, (*Handler).next, false},
		{"RUN", "Gives IDs as runs: the step between neighbours, then the first ID and the length of each run.", "generic", "0.1.0", 1, 5, []argument{count, tenant}, (*Handler).runs, false},
		{"DECODE", "Shows the fields of an ID.", "generic", "0.1.0", 1, 3, []argument{text("id", false), as}, (*Handler).decode, false},
		{"FORM", "Chooses the form of the IDs on this connection, or tells it.", "connection", "0.1.0", 0, 1, []argument{text("form", true)}, setForm, false},
		{"INFO", "Shows the state of the daemon.", "server", "0.1.0", 0, -1, []argument{text("section", true)}, (*Handler).info, false},
		{"PING", "Answers PONG, or the message.", "connection", "0.1.0", 0, 1, []argument{text("message", true)}, (*Handler).ping, false},
		{"ECHO", "Answers the message.", "connection", "0.1.0", 1, 1, []argument{text("message", false)}, (*Handler).echo, false},
		{"HELLO", "Tells about the server and chooses the protocol's version.", "connection", "0.1.0", 0, -1, []argument{{name: "protover", kind: "integer", optional: true}}, (*Handler).hello, false},
		{"AUTH", "Gives the password of --password-file, where there is one.", "connection", "0.1.0", 1, 2, []argument{text("username", true), text("password", false)}, auth, false},
		{"CLIENT", "Names the connection.", "connection", "0.1.0", 1, -1, []argument{text("subcommand", false), text("value", true)}, (*Handler).client, false},
		{"COMMAND", "Lists the commands.", "server", "0.1.0", 0, -1, []argument{text("subcommand", true), text("name", true)}, (*Handler).command, false},
		{"CONFIG", "Is there for clients that ask for parameters of Redis.", "server", "0.1.0", 1, -1, []argument{text("subcommand", false), text("parameter", true)}, config, false},
		{"SELECT", "Accepts database 0.", "connection", "0.1.0", 1, 1, []argument{{name: "index", kind: "integer"}}, (*Handler).selectDB, false},
		{"SUBSCRIBE", "Accepts the channels: no message ever comes.", "pubsub", "0.1.0", 1, -1, []argument{text("channel", false)}, subscribe, false},
		{"UNSUBSCRIBE", "Leaves the channels, or all.", "pubsub", "0.1.0", 0, -1, []argument{text("channel", true)}, unsubscribe, false},
		{"PUNSUBSCRIBE", "Answers that there are no patterns.", "pubsub", "0.1.0", 0, -1, []argument{text("pattern", true)}, punsubscribe, false},
		{"GET", "Answers null: there are no keys.", "string", "0.1.0", 1, 1, []argument{text("key", false)}, get, false},
		{"DBSIZE", "Answers 0: there are no keys.", "server", "0.1.0", 0, 0, nil, none, false},
		{"SCAN", "Answers that there are no keys.", "generic", "0.1.0", 1, -1, []argument{{name: "cursor", kind: "integer"}, text("option", true)}, scan, false},
		{"MEMORY", "Is there for tools that ask for a key's memory.", "server", "0.1.0", 1, -1, []argument{text("subcommand", false), text("key", true)}, memory, false},
		{"SLOWLOG", "Is there for tools that ask for slow requests.", "server", "0.1.0", 1, 2, []argument{text("subcommand", false), text("count", true)}, slowlog, false},
		{"LATENCY", "Is there for tools that ask for latency events.", "server", "0.1.0", 1, -1, []argument{text("subcommand", false), text("event", true)}, latency, false},
		{"MULTI", "Begins to queue requests.", "transactions", "0.1.0", 0, 0, nil, multi, false},
		{"EXEC", "Runs the queued requests.", "transactions", "0.1.0", 0, 0, nil, exec, false},
		{"DISCARD", "Forgets the queued requests.", "transactions", "0.1.0", 0, 0, nil, discard, false},
		{"WATCH", "Answers OK: there are no keys to watch.", "transactions", "0.1.0", 1, -1, []argument{text("key", false)}, watch, false},
		{"UNWATCH", "Answers OK: there are no keys to watch.", "transactions", "0.1.0", 0, 0, nil, ok, false},
		{"RESET", "Forgets the connection's name, form and version of the protocol.", "connection", "0.1.0", 0, 0, nil, (*Handler).reset, false},
		{"QUIT", "Closes the connection once all replies are sent.", "connection", "0.1.0", 0, -1, nil, (*Handler).quit, false},
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
