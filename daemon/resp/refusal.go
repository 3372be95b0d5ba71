package resp

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind is a reason to refuse a request.
type Kind uint8

// The reasons there are.
const (
	UnknownCommand Kind = iota
	UnknownSubcommand
	WrongArguments
	BadCount
	CountTooHigh
	BadTenant
	NoTenants
	BadID
	WrongID
	BadOption
	BadDatabase
	BadProtocol
	Unavailable
	TooManyConnections
	BrokenFrame
	kinds
)

// refusals is the one table of what a client is told, whatever dialect it speaks: a prefix for
// programs and a text for people.
var refusals = [kinds]struct{ prefix, text string }{
	UnknownCommand:     {"ERR", "unknown command '%s': ask for IDs with NEXT or RUN; COMMAND DOCS lists the others"},
	UnknownSubcommand:  {"ERR", "unknown subcommand '%s' of %s"},
	WrongArguments:     {"ERR", "wrong number of arguments for '%s': use %s"},
	BadCount:           {"ERR", "the count '%s' is not a whole number of 1 or more"},
	CountTooHigh:       {"ERR", "the count %s is over the limit of %d: ask several times"},
	BadTenant:          {"ERR", "the tenant '%s' is not a whole number from 0 to %d"},
	NoTenants:          {"ERR", "the tenant '%s' is not 0, but the layout has no tenant field"},
	BadID:              {"ERR", "the ID '%s' is not a whole number from 0 to 9223372036854775807"},
	WrongID:            {"ERR", "the ID cannot be decoded: %v"},
	BadOption:          {"ERR", "'%s' is not understood here: use %s"},
	BadDatabase:        {"ERR", "there is only database 0"},
	BadProtocol:        {"NOPROTO", "unsupported protocol version: 2 and 3 are spoken here"},
	Unavailable:        {"UNAVAILABLE", "%v"},
	TooManyConnections: {"ERR", "too many connections: the limit is %d; close some, or raise it"},
	BrokenFrame:        {"ERR", "Protocol error: %s; the connection is closed"},
}

// Refusal is the answer to a request that is not served.
type Refusal struct {
	Prefix string // one word in capitals, for programs
	Text   string // one line for people: what is wrong, and what they can do
}

// Refuse makes the refusal of that kind. The details are what the kind's text has room for.
func Refuse(k Kind, details ...any) *Refusal {
	row := refusals[k]
	return &Refusal{row.prefix, fmt.Sprintf(row.text, details...)}
}

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
