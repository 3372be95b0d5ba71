// Package form is about how an ID is written: as a number, as a text of one of several kinds, or as
// a UUID.
//
// Each form has one text for each ID, and Parse takes no other: so two texts of a form are equal if
// and only if their IDs are. Base62 has a fixed width, and its texts sort as bytes like the IDs as
// numbers; UUIDs do as well, by time first.
package form

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flakeward/flakeward/internal/nearest"
)

// Form is a way to write an ID.
type Form uint8

// The forms there are.
const (
	Integer Form = iota // decimal digits; over RESP an integer
	String              // decimal digits, as text
	Base62              // 11 characters of 0-9, A-Z, a-z
	UUID                // RFC 9562 version 7, which names the cluster as well

	// Count is how many forms there are.
	Count
)

var names = [Count]string{"integer", "string", "base62", "uuid"}

// Names are the names of all forms.
func Names() []string { return slices.Clone(names[:]) }

// String is the form's name.
func (f Form) String() string {
	if f >= Count {
		return fmt.Sprintf("Form(%d)", uint8(f))
	}
	return names[f]
}

// Named finds a form by its name, in any case. The error says which forms there are, and which one
// may have been meant.
func Named[text string | []byte](name text) (Form, error) {
	for f, known := range names {
		if len(name) == len(known) && strings.EqualFold(string(name), known) {
			return Form(f), nil
		}
	}
	return 0, unknown(string(name))
}

func unknown(name string) error {
	all := strings.Join(names[:], ", ")
	if near, ok := nearest.Name(name, names[:]); ok {
		return fmt.Errorf("there is no form %q: did you mean %s? There are %s", short(name), near, all)
	}
	return fmt.Errorf("there is no form %q: there are %s", short(name), all)
}

// longestShown bounds how many bytes of a text an error repeats.
const longestShown = 64

func short(text string) string {
	if len(text) > longestShown {
		return text[:longestShown] + "..."
	}
	return text
}
