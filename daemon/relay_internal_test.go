package daemon

import (
	"bufio"
	"strings"
	"testing"
)

// A reply to RUN has as many IDs as were asked for, or is an error.
func TestReadRuns(t *testing.T) {
	for _, c := range []struct{ reply, want string }{
		{"*3\r\n:1\r\n:100\r\n:5\r\n", ""},
		{"*5\r\n:4\r\n:100\r\n:2\r\n:200\r\n:3\r\n", ""},
		{"*3\r\n:1\r\n:100\r\n:4\r\n", "1 IDs are missing"},
		{"*3\r\n:1\r\n:100\r\n:6\r\n", "a run has 6 IDs"},
		{"*3\r\n:1\r\n:100\r\n:0\r\n", "a run has 0 IDs"},
		{"-UNAVAILABLE later\r\n", "UNAVAILABLE later"},
		{"*3\r\n:1\r\n:100\r\n", "EOF"},
		{"\n", "the reply is"},
	} {
		runs, err := readRuns(bufio.NewReader(strings.NewReader(c.reply)), 5)
		if c.want == "" && (err != nil || runs[0].First != 100) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, %v; want %q", c.reply, runs, err, c.want)
		}
	}
}
