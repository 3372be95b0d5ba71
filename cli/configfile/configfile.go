// Package configfile reads a configuration file: a YAML mapping from the names of settings to
// single values. It knows which names there are and where each value stood, not what a value means:
// that is told by whoever parses it, so a setting has one parser, whichever way it is given.
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
	Text string // as written, without quotes
	Line int    // from 1
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
func Read(path string, known []string) (map[string]Value, error) {
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
	return Parse(path, data, known)
}

// Parse reads a configuration that may hold the known names, from a path. An empty one holds
// none. A name that is not known, given twice, or without a single value is an
// *Error with the line. All of them are said at once, joined, and the others are returned.
func Parse(path string, data []byte, known []string) (map[string]Value, error) {
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
func settings(path string, root *yaml.Node, known []string) (map[string]Value, error) {
	values := make(map[string]Value)
	if root.Tag == "!!null" { // comments only
		return values, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, &Error{Path: path, Line: root.Line, Err: errors.New("not a list of settings: write one `name: value` a line")}
	}
	var errs []error
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		name := key.Value
		earlier, twice := values[name]
		wrong := ""
		switch {
		case !slices.Contains(known, name):
			wrong = unknown(key, known)
		case twice:
			wrong = fmt.Sprintf("%s is given twice, first in line %d: remove one", name, earlier.Line)
		case value.Kind != yaml.ScalarNode || value.Tag == "!!binary":
			wrong = name + " takes a single value, not a list or a mapping"
		case value.Tag == "!!null":
			wrong = name + " has no value: give it one, or remove the line for the default"
		default:
			values[name] = Value{Text: value.Value, Line: key.Line}
		}
		if wrong != "" {
			errs = append(errs, &Error{Path: path, Line: key.Line, Err: errors.New(wrong)})
		}
	}
	return values, errors.Join(errs...)
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
