package resp_test

import (
	"testing"

	"github.com/flakeward/flakeward/daemon/resp"
)

// Inline commands are quoted as in Redis (sdssplitargs).
func TestInlineQuotes(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{`ECHO "a b"`, "$3\r\na b\r\n"},
		{`ECHO 'a b'`, "$3\r\na b\r\n"},
		{`ECHO ""`, "$0\r\n\r\n"},
		{`"ECHO" a`, "$1\r\na\r\n"},
		{`ECHO a"b c"`, "$4\r\nab c\r\n"},
		{`ECHO "\x41\n\r\t\b\a\"\\\q\xg"`, "$11\r\nA\n\r\t\b\a\"\\qxg\r\n"},
		{`ECHO 'a\'b\n'`, "$5\r\na'b\\n\r\n"},
		{`ECHO 'a"b'  `, "$3\r\na\"b\r\n"},
		{`ECHO "a'b"`, "$3\r\na'b\r\n"},
		{`ECHO \n`, "$2\r\n\\n\r\n"},
	} {
		if got, closed := ask(handler(t, &ticks{}, "twitter", resp.Limits{}), c.in+"\r\nPING\r\n"); got != c.out+"+PONG\r\n" || closed {
			t.Errorf("%s: got %q (closed: %t), want %q", c.in, got, closed, c.out)
		}
	}
	for _, in := range []string{`ECHO "a`, `ECHO 'a`, `ECHO "a"b`, `ECHO 'a'"b"`, `ECHO "a\`, `ECHO "a\"`} {
		if got, closed := ask(handler(t, &ticks{}, "twitter", resp.Limits{}), in+"\r\nPING\r\n"); got != "-ERR Protocol error: unbalanced quotes; the connection is closed\r\n" || !closed {
			t.Errorf("%s: got %q (closed: %t)", in, got, closed)
		}
	}
}
