package nearest

import (
	"strings"
	"testing"
)

var names = []string{"socket", "socket-mode", "max-sleep", "window", "publish", "log-json", "host"}

func TestName(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"socket_mode", "socket-mode"},
		{"SocketMode", "socket-mode"},
		{"sockte", "socket"},
		{"maxsleep", "max-sleep"},
		{"wndow", "window"},
		{"hots", ""}, // two of four letters are off
		{"", ""},
		{strings.Repeat("window", 100), ""},
	} {
		got, ok := Name(c.name, names)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("Name(%q) = %q, %v, want %q", c.name, got, ok, c.want)
		}
	}
}
