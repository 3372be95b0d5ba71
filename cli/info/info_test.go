package info

import (
	"reflect"
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
