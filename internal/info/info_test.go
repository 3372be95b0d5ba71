package info

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	got := Parse("early:1\r\n# Server\r\nhost:a:b\r\n\r\n#Worker\nstate:ready\nempty:\nno entry\n:no key\n")
	want := Info{
		{Name: "", Entries: []Entry{{"early", "1"}}},
		{Name: "Server", Entries: []Entry{{"host", "a:b"}}},
		{Name: "Worker", Entries: []Entry{{"state", "ready"}, {"empty", ""}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if value, ok := got.Get("host"); value != "a:b" || !ok {
		t.Errorf("host is %q, %v", value, ok)
	}
	if all := Parse("a:1\n# S\na:2\nb:3\n").Map(); len(all) != 2 || all["a"] != "1" || all["b"] != "3" {
		t.Errorf("as a map: %q", all)
	}
	if value, ok := got.Get("nothing"); value != "" || ok {
		t.Errorf("nothing is %q, %v", value, ok)
	}
}

func TestReady(t *testing.T) {
	for state, want := range map[string]bool{"ready": true, "clock-behind": true, "starting": false, "stopped": false, "unavailable": false, "": false} {
		if got := Parse("state:" + state + "\n").Ready(); got != want {
			t.Errorf("state %q: ready is %v", state, got)
		}
	}
	if Parse("").Ready() {
		t.Error("a daemon that says nothing is ready")
	}
}

// FuzzParse: what was read and is written as a daemon writes it reads as the same, in one line
// each.
func FuzzParse(f *testing.F) {
	f.Add("early:1\r\n# Server\r\nhost:a:b\r\n\r\n#Worker\nstate:ready\nempty:\nno entry\n:no key\n")
	f.Add("#")
	f.Add("#\n a : b \n##x\n#:\n:\r:\n\u2028:x")
	f.Fuzz(func(t *testing.T, text string) {
		in := Parse(text)
		var written strings.Builder
		for i, section := range in {
			if i > 0 || section.Name != "" || section.Entries == nil {
				written.WriteString("# " + section.Name + "\r\n")
			}
			for _, e := range section.Entries {
				if e.Key == "" || strings.Contains(e.Key+e.Value+section.Name, "\n") {
					t.Errorf("%q has the entry %+v", text, e)
				}
				written.WriteString(e.Key + ":" + e.Value + "\r\n")
			}
		}
		again := Parse(written.String())
		if !reflect.DeepEqual(again, in) {
			t.Errorf("%q is %+v, and that is written as %+v", text, in, again)
		}
		if state, ok := in.Get(State); in.Ready() && (!ok || state != "ready" && state != "clock-behind") {
			t.Errorf("%q is ready", text)
		}
	})
}
