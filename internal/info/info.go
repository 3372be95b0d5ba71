// Package info is what a daemon says of itself, and reads the reply to INFO: lines of `key:value`
// in sections that begin with `# Name`, as Redis has made them usual
// (https://redis.io/docs/latest/commands/info/).
package info

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// The keys that commands look at; what else there is is only shown.
const (
	State     = "state"      // one word for what a request would meet now
	Layout    = "layout"     // the layout in its full form
	Cluster   = "cluster_id" // the UUID of the daemon's cluster; empty: it is in none yet
	MaxCount  = "max_count"  // how many IDs one request may ask for
	Form      = "form"       // how IDs are written for a connection that asks for no form
	Condition = "condition"  // what keeps the daemon from working as it should; empty: nothing

	Coordinator = "coordinator"       // its URL, with *** for what is secret
	Version     = "flakeward_version" // every daemon tells it, and no server of another kind does
	Redis       = "redis_version"     // whose protocol is spoken: Redis servers tell it too
)

// texts are the keys whose values are texts even if they look like numbers: people choose them, or
// chance does.
var texts = []string{"claim", "flakeward_version", "host", "opening", "redis_version", "socket"}

// number is what JSON takes for one.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// Typed is what JSON has: the values of a section by their keys.
func (in Info) Typed() map[string]map[string]any {
	sections := make(map[string]map[string]any)
	for _, section := range in {
		entries := sections[section.Name]
		if entries == nil {
			entries = make(map[string]any)
			sections[section.Name] = entries
		}
		for _, entry := range section.Entries {
			entries[entry.Key] = entry.typed()
		}
	}
	return sections
}

// typed is the value as JSON has it: a bool, a json.Number, or a string.
func (e Entry) typed() any {
	switch {
	case slices.Contains(texts, e.Key):
	case e.Value == "true" || e.Value == "false":
		return e.Value == "true"
	case number.MatchString(e.Value):
		return json.Number(e.Value)
	}
	return e.Value
}

// serving are the states in which requests are answered with IDs.
var serving = []string{"ready", "clock-behind"}

// Info is what a daemon says of itself, in its order.
type Info []Section

// Section is a group of entries. The first one's name is empty if entries come before any heading.
type Section struct {
	Name    string
	Entries []Entry
}

// Entry is one line.
type Entry struct{ Key, Value string }

// Parse reads any text; lines that are neither a heading nor an entry are left out.
func Parse(text string) Info {
	var in Info
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "#"); ok {
			in = append(in, Section{Name: strings.TrimSpace(name)})
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || key == "" {
			continue
		}
		if len(in) == 0 {
			in = append(in, Section{})
		}
		last := &in[len(in)-1]
		last.Entries = append(last.Entries, Entry{Key: key, Value: value})
	}
	return in
}

// Get returns the first value of key, in whichever section.
func (in Info) Get(key string) (value string, ok bool) {
	for _, section := range in {
		for _, entry := range section.Entries {
			if entry.Key == key {
				return entry.Value, true
			}
		}
	}
	return "", false
}

// Map has the first value of each key.
func (in Info) Map() map[string]string {
	all := map[string]string{}
	for _, section := range slices.Backward(in) {
		for _, entry := range slices.Backward(section.Entries) {
			all[entry.Key] = entry.Value
		}
	}
	return all
}

// Ready reports whether the daemon says that it can issue IDs.
func (in Info) Ready() bool {
	state, _ := in.Get(State)
	return slices.Contains(serving, state)
}
