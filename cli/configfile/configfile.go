// Package configfile reads a configuration file: a YAML mapping from the names
// of settings to single values, or to mappings of them. It knows which names there are and where each
// value stood, not what a value means: that is told by whoever parses it, so a
// setting has one parser, whichever way it is given.
package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/flakeward/flakeward/internal/nearest"
)

// MaxSize is the longest file that is read, in bytes. A configuration is a page
// or two; what is longer is another file, given by mistake.
const MaxSize = 1 << 20

// Value is one setting as the file has it.
type Value struct {
	Text    string  // as written, without quotes; empty for a mapping
	Entries []Entry // of a mapping, in their order; each name is there once
	Line    int     // from 1
}

// Entry is a name of a mapping and what it stands for.
type Entry struct {
	Name string
	Value
}

// Settings are the names that a configuration may hold.
type Settings struct {
	Single  []string // those of a single value
	Mapping []string // and those of a mapping of single values, whose names are anything
}

// Error is something wrong with a file.
type Error struct {
	Path string // empty if the content came from no file
	Line int    // from 1; 0 if it is about the file as a whole
	Err  error
}

// Error says where and what, in the form that editors jump to.
func (e *Error) Error() string {
	where := e.Path
	if where == "" {
		where = "configuration"
	}
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, e.Line)
	}
	return fmt.Sprintf("%s: %v", where, e.Err)
}

// Unwrap returns what is wrong, without the place.
func (e *Error) Unwrap() error { return e.Err }

// Read reads the file at path as Parse does. A file that cannot be read, or is
// longer than MaxSize, is an *Error too.
func Read(path string, known Settings) (map[string]Value, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	if len(data) > MaxSize {
		return nil, &Error{Path: path, Err: fmt.Errorf("longer than %d bytes: is it the right file?", MaxSize)}
	}
	return parse(path, data, known)
}

// Parse reads a configuration that may hold the known names. An empty one holds
// none. A name that is not known, given twice, or without a value of its kind is an
// *Error with the line. All of them are said at once, joined, and the others are returned.
func Parse(data []byte, known Settings) (map[string]Value, error) { return parse("", data, known) }

func parse(path string, data []byte, known Settings) (map[string]Value, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return map[string]Value{}, nil
	case err != nil:
		return nil, &Error{Path: path, Err: fmt.Errorf("no valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))}
	}
	var second yaml.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, &Error{Path: path, Err: fmt.Errorf("no valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))}
		}
		return nil, &Error{Path: path, Line: second.Line, Err: errors.New("a second document begins here: put all settings into one")}
	}
	return settings(path, document.Content[0], known)
}

// settings takes the mapping of a document apart.
func settings(path string, root *yaml.Node, known Settings) (map[string]Value, error) {
	values := make(map[string]Value)
	if root.Tag == "!!null" { // comments only
		return values, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, &Error{Path: path, Line: root.Line, Err: errors.New("not a list of settings: write one `name: value` a line")}
	}
	var errs []error
	bad := func(err error) {
		if at := (*Error)(nil); errors.As(err, &at) {
			at.Path = path
		}
		errs = append(errs, err)
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		name := key.Value
		single, mapping := slices.Contains(known.Single, name), slices.Contains(known.Mapping, name)
		switch earlier, twice := values[name]; {
		case !single && !mapping:
			bad(&Error{Line: key.Line, Err: errors.New(unknown(key, slices.Concat(known.Single, known.Mapping)))})
			continue
		case twice:
			bad(givenTwice(key, earlier.Line))
			continue
		}
		value, err := valueOf(key, root.Content[i+1], mapping)
		if err != nil {
			bad(err)
			continue
		}
		values[name] = value
	}
	return values, errors.Join(errs...)
}

func givenTwice(key *yaml.Node, earlier int) error {
	return &Error{Line: key.Line, Err: fmt.Errorf("%s is given twice, first in line %d: remove one", key.Value, earlier)}
}

// valueOf reads the value of a name: a mapping, or a single one.
func valueOf(key, value *yaml.Node, mapping bool) (Value, error) {
	if mapping {
		return mappingOf(key, value)
	}
	fail := func(format string) error { return &Error{Line: key.Line, Err: fmt.Errorf(format, key.Value)} }
	switch value = aliased(value); {
	case value.Kind != yaml.ScalarNode || value.Tag == "!!binary":
		return Value{}, fail("%s takes a single value, not a list or a mapping")
	case value.Tag == "!!null":
		return Value{}, fail("%s has no value: give it one, or remove the line for the default")
	}
	return Value{Text: value.Value, Line: key.Line}, nil
}

// mappingOf reads a mapping whose values are single ones.
func mappingOf(key, value *yaml.Node) (Value, error) {
	value = aliased(value)
	if value.Kind != yaml.MappingNode {
		return Value{}, &Error{Line: key.Line, Err: fmt.Errorf("%s takes a mapping, such as {name: 3}", key.Value)}
	}
	v := Value{Line: key.Line}
	lines := make(map[string]int)
	for i := 0; i+1 < len(value.Content); i += 2 {
		key, value := value.Content[i], value.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!binary" {
			return Value{}, &Error{Line: key.Line, Err: errors.New("not a name: write one `name: value` a line")}
		}
		if earlier, twice := lines[key.Value]; twice {
			return Value{}, givenTwice(key, earlier)
		}
		lines[key.Value] = key.Line
		entry, err := valueOf(key, value, false)
		if err != nil {
			return Value{}, err
		}
		v.Entries = append(v.Entries, Entry{key.Value, entry})
	}
	return v, nil
}

// aliased is what a node stands for.
func aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// unknown says that there is no such setting, and which one may have been meant.
func unknown(key *yaml.Node, known []string) string {
	if key.Kind != yaml.ScalarNode {
		return "not the name of a setting: write one `name: value` a line"
	}
	text := fmt.Sprintf("there is no setting %q", key.Value)
	if near, ok := nearest.Name(key.Value, known); ok {
		return text + fmt.Sprintf(": did you mean %q?", near)
	}
	return text + ": see the sample deploy/flakeward.yaml for all there are"
}
