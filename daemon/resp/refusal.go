package resp

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/flakeward/flakeward/daemon/tally"
)

// Kind is a reason to refuse a request.
type Kind uint8

// The reasons there are.
const (
	UnknownCommand Kind = iota
	UnknownSubcommand
	Declined
	WrongArguments
	BadCount
	CountTooHigh
	BadTenant
	NoTenants
	BadID
	WrongID
	BadForm
	RunAs
	BadOption
	BadDatabase
	BadProtocol
	NoPassword
	WrongPass
	NestedMulti
	WatchInMulti
	WithoutMulti
	QueueFull
	ExecAbort
	Unavailable
	TooManyConnections
	NoConnectionLeft
	TooMuchMemory
	NotAllowed
	BrokenFrame
	UnknownPath
	WrongMethod
	BadCall
	UnknownParameter
	WrongParameter
	BadBody
	WrongType
	NotHere
	NoAuth
	WrongPassword
	kinds
)

// refusals is the one table of what a client is told, whatever dialect it speaks: a prefix for
// programs and a text for people. The code is what such requests are counted by; UNAVAILABLE has
// that of the condition instead, if there is one.
var refusals = [kinds]struct{ code, prefix, text string }{
	UnknownCommand:     {"unknown-command", "ERR", "unknown command '%s': ask for IDs with NEXT or RUN; COMMAND LIST lists the others"},
	UnknownSubcommand:  {"unknown-subcommand", "ERR", "unknown subcommand '%s' of %s"},
	Declined:           {tally.Declined, "ERR", "%s"},
	WrongArguments:     {"wrong-arguments", "ERR", "wrong number of arguments for '%s': use %s"},
	BadCount:           {"bad-count", "ERR", "the count '%s' is not a whole number of 1 or more"},
	CountTooHigh:       {"count-too-high", "ERR", "the count %s is over the limit of %d: ask several times"},
	BadTenant:          {"bad-tenant", "ERR", "the tenant '%s' is not a whole number from 0 to %d"},
	NoTenants:          {"no-tenants", "ERR", "the tenant '%s' is not 0, but the layout has no tenant field"},
	BadID:              {"bad-id", "ERR", "%v"},
	WrongID:            {"wrong-id", "ERR", "the ID cannot be decoded: %v"},
	BadForm:            {"bad-form", "ERR", "%v"},
	RunAs:              {"run-as", "ERR", "RUN answers integers, from which the others of a run are counted: use NEXT %s AS %s"},
	BadOption:          {"bad-option", "ERR", "'%s' is not understood here: use %s"},
	BadDatabase:        {"bad-database", "ERR", "there is only database 0"},
	BadProtocol:        {"bad-protocol", "NOPROTO", "unsupported protocol version: 2 and 3 are spoken here"},
	NoPassword:         {"no-password", "ERR", "AUTH <password> called without any password configured for the default user: the socket file's permissions say who may ask; leave the password out"},
	WrongPass:          {"wrong-pass", "WRONGPASS", "there is no user '%s', only default: the socket file's permissions say who may ask; leave user and password out"},
	NestedMulti:        {"nested-multi", "ERR", "MULTI within MULTI: send EXEC or DISCARD first"},
	WatchInMulti:       {"watch-in-multi", "ERR", "WATCH within MULTI: send it before"},
	WithoutMulti:       {"without-multi", "ERR", "%s without MULTI"},
	QueueFull:          {"queue-full", "ERR", "the requests since MULTI have more than %d bytes, the limit of a transaction: send fewer at once, or a pipeline without MULTI"},
	ExecAbort:          {"exec-abort", "EXECABORT", "no request since MULTI was run, as one of them was refused"},
	Unavailable:        {"unavailable", "UNAVAILABLE", "%v"},
	TooManyConnections: {"too-many-connections", "ERR", "too many connections: the limit is %d; close some, or raise --max-connections"},
	NoConnectionLeft:   {"no-connection-left", "ERR", "too many connections: the limit is %d, and other users have them all; try again later, or raise --max-connections"},
	TooMuchMemory:      {"too-much-memory", "ERR", "too much memory: this connection takes %d KiB, the most of all, and no more is left; read replies, and send whole requests"},
	NotAllowed:         {"not-allowed", "ERR", "not allowed: user %s may not connect; see --allow-uid and --allow-gid of the daemon"},
	BrokenFrame:        {"broken-frame", "ERR", "Protocol error: %s; the connection is closed"},
	UnknownPath:        {"unknown-path", "ERR", "there is nothing at '%s': /v1/openapi.json has the paths"},
	WrongMethod:        {"wrong-method", "ERR", "the method '%s' is not for this path: use %s"},
	BadCall:            {"bad-call", "ERR", "the call cannot be answered: %s"},
	UnknownParameter:   {"unknown-parameter", "ERR", "the parameter '%s' is not known here: use %s"},
	WrongParameter:     {"wrong-parameter", "ERR", "the parameter %s is wrong: %v"},
	BadBody:            {"bad-body", "ERR", "the body cannot be read: %v"},
	WrongType:          {"wrong-type", "ERR", "the body is of the type '%s': send parameters in the URL, or in a body of the type application/json or application/x-www-form-urlencoded"},
	NotHere:            {"not-here", "ERR", "%s is not served here: use %s"},
	NoAuth:             {"no-auth", "NOAUTH", "the password is missing or wrong: send the one of the daemon's --password-file, by AUTH or HELLO, or over HTTP as Basic with any user"},
	WrongPassword:      {"wrong-password", "WRONGPASS", "the password is not the one of the daemon's --password-file"},
}

// Refusal is the answer to a request that is not served.
type Refusal struct {
	Code   string // for counting
	Prefix string // one word in capitals, for programs
	Text   string // one line for people: what is wrong, and what they can do
}

// Refuse makes the refusal of that kind. The details are what the kind's text has room for.
func Refuse(k Kind, details ...any) *Refusal {
	row := refusals[k]
	return &Refusal{row.code, row.prefix, fmt.Sprintf(row.text, details...)}
}

// Shown is what a client sent, made fit to be repeated to it.
func Shown(text string) string { return shown([]byte(text[:min(len(text), 2*longestShown)])) }

const (
	longestShown = 64  // bytes of a client's own words that are repeated to it
	longestText  = 512 // bytes of a refusal's text
)

// shown makes what a client sent fit to be repeated to it: short, on one line, and valid UTF-8.
func shown(b []byte) string {
	cut := len(b) > longestShown
	if cut {
		b = b[:longestShown]
	}
	text := strings.Map(printable, strings.ToValidUTF8(string(b), "?"))
	if cut {
		text += "..."
	}
	return text
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r == utf8.RuneError {
		return '?'
	}
	return r
}

// Append appends the refusal as a RESP error of one line, whatever its text has.
func (r *Refusal) Append(out []byte) []byte {
	out = append(out, '-')
	out = append(out, r.Prefix...)
	out = append(out, ' ')
	text := r.Text
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "") + "..."
	}
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' {
			out = append(out, ' ')
		} else {
			out = append(out, c)
		}
	}
	return append(out, '\r', '\n')
}
