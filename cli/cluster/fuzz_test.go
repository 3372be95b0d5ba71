package cluster

import (
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// FuzzOf: a cluster's layout that is understood is written as what is understood as the same; one
// that is not is an error that names the cluster.
func FuzzOf(f *testing.F) {
	f.Add("time=41@1ms,worker=10,sequence=12;epoch=2026-01-01T00:00:00Z;datacenter=0")
	f.Add("twitter;datacenter=31")
	f.Add("twitter")
	f.Add("sonyflake;epoch=2026-01-01")
	f.Add("twitter;datacenter=1;datacenter=2")
	f.Add("twitter;datacenter=-1")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Of(coord.Inspected{UUID: "the-uuid", Layout: text})
		if err != nil {
			if !strings.Contains(err.Error(), "the-uuid") || c.Layout != nil {
				t.Errorf("%q: %+v, %v", text, c, err)
			}
			if layout, err := generator.ParseLayout(text); err == nil {
				t.Errorf("layout %s is not understood", layout)
			}
			return
		}
		if layout, err := generator.ParseLayout(text); err == nil {
			with, err := Of(coord.Inspected{UUID: "the-uuid", Layout: text + datacenterKey + "5"})
			if err != nil || with.Datacenter != 5 || c.Datacenter != 0 || with.Layout.String() != layout.String() {
				t.Errorf("%q with datacenter 5 is %+v, %v", text, with, err)
			}
		}
		again, err := Of(coord.Inspected{UUID: c.UUID, Layout: c.Layout.String() + datacenterKey + strconv.FormatUint(c.Datacenter, 10)})
		if err != nil || again.Layout.String() != c.Layout.String() || again.Datacenter != c.Datacenter || c.Workers < 1 || c.Workers > coord.MaxWorkers {
			t.Errorf("%q is %+v, and that %+v, %v", text, c, again, err)
		}
	})
}

// FuzzPlain: a text of others neither moves the cursor nor begins a line.
func FuzzPlain(f *testing.F) {
	for _, text := range []string{"", "-", "h1", "\x1b[2J", "a\nb", "\u202e", "\xff", `"x"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		shown := Plain(text)
		if shown == "" || strings.ContainsFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is shown as %q", text, shown)
		}
		if cut := short(text); len([]rune(cut)) > len([]rune(text))*10+2 || strings.ContainsFunc(cut, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is shown short as %q", text, cut)
		}
	})
}
