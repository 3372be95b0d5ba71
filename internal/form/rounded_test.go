package form_test

import (
	"testing"

	"github.com/flakeward/flakeward/internal/form"
)

func TestWhatMayBeRounded(t *testing.T) {
	for text, want := range map[string]bool{
		"117949486318465024":                   true,  // the double itself
		"117949486318465020":                   true,  // as JavaScript prints it
		"117949486318465025":                   false, // what it was rounded from
		"117949486318465030":                   false,
		"1541815603606036480":                  true,
		"1541815603606036500":                  true,
		"1541815603606036481":                  false,
		"9007199254740991":                     false, // Number.MAX_SAFE_INTEGER
		"9007199254740992":                     true,
		"9007199254740993":                     false,
		"9223372036854775807":                  false,
		"9223372036854774784":                  true, // the largest double below 2^63
		"9223372036854775000":                  true,
		"9223372036854775808":                  false, // no ID
		"0":                                    false,
		"":                                     false,
		"x":                                    false,
		"08iD0qjbKng":                          false,
		"01a1fb67-1800-7b6b-b600-cddd9a800001": false,
	} {
		if form.MayBeRounded(text) != want {
			t.Errorf("%q may be rounded: %v, want %v", text, !want, want)
		}
	}
}
