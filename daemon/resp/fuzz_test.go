package resp_test

import (
	"bytes"
	"testing"

	"github.com/flakeward/flakeward/daemon/resp"
)

// FuzzServe sends bytes in one piece and in pieces as cuts says: the replies, and whether the
// connection is closed, must not differ. Small limits bring the ends of everything near.
func FuzzServe(f *testing.F) {
	for _, in := range []string{
		"*1\r\n$4\r\nNEXT\r\n*1\r\n$4\r\nnext\r\n*2\r\n$4\r\nNEXT\r\n$1\r\n9\r\nNEXT 3 TENANT 1\r\n",
		"RUN 9\r\n*4\r\n$3\r\nRUN\r\n$2\r\n17\r\n$6\r\nTENANT\r\n$1\r\n3\r\nPING\r\n",
		"DECODE 1541815603606036480\r\nHELLO 3\r\nDECODE 77\r\nHELLO 2 SETNAME x\r\nRESET\r\n",
		"INFO\r\nINFO server\r\nCOMMAND\r\nCOMMAND LIST\r\nCOMMAND INFO next\r\n",
		"CLIENT SETNAME a\r\nCLIENT GETNAME\r\nCLIENT ID\r\nCONFIG GET save\r\nSELECT 0\r\nQUIT\r\nPING\r\n",
		"MULTI\r\nNEXT\r\nNEXT 9\r\nPING\r\nEXEC\r\nMULTI\r\nNO\r\nEXEC\r\nMULTI\r\nDISCARD\r\nECHO \"a b\\x41\" 'c'\r\nECHO \"\r\n",
		"FORM base62\r\n*1\r\n$4\r\nNEXT\r\nFORM\r\nNEXT 3 AS uuid\r\nDECODE 0000000000z AS base62\r\nHELLO 3\r\nNEXT 9 AS string\r\nFORM string\r\nDECODE 7\r\nRUN 3 AS uuid\r\nFORM x\r\n",
		"*1\r\n$5\r\nPING\r\n", "*2\r\n$4\r\nPING\r\n$3\r\na\r\n\r\n", "*-1\r\n*0\r\n\r\nPING\r\n", "*1\r\n$99\r\n", "*99\r\n", "*1\r\n:4\r\n",
	} {
		f.Add([]byte(in), []byte{1, 2, 3, 5, 8, 13})
		f.Add([]byte(in), []byte{1})
	}
	limits := resp.Limits{Count: 40, Inline: 60, Bulk: 30, Args: 6, Request: 90, Transaction: 90, Output: 70}
	const text = "time=41@1ms,worker=8,tenant=4,sequence=10;epoch=2020-01-01"
	f.Fuzz(func(t *testing.T, in, cuts []byte) {
		whole := client{handler: handler(t, &ticks{each: 7}, text, limits)}
		whole.send(in)
		pieces := client{handler: handler(t, &ticks{each: 7}, text, limits)}
		rest := in
		for i := 0; len(rest) > 0; i++ {
			n := len(rest)
			if len(cuts) > 0 {
				n = min(n, 1+int(cuts[i%len(cuts)]))
			}
			pieces.send(rest[:n])
			rest = rest[n:]
		}
		if !bytes.Equal(whole.out, pieces.out) || whole.closed != pieces.closed {
			t.Errorf("in one piece %q (closed: %t)\n   in pieces %q (closed: %t)", whole.out, whole.closed, pieces.out, pieces.closed)
		}
		if !whole.closed && !bytes.Equal(whole.in, pieces.in) {
			t.Errorf("left over in one piece: %q, in pieces: %q", whole.in, pieces.in)
		}
		if len(whole.in) > limits.Request+limits.Inline && !whole.closed {
			t.Errorf("%d bytes are kept", len(whole.in))
		}
		checkReplies(t, whole.out)
	})
}

// checkReplies fails if out is not whole replies of the protocol.
func checkReplies(t *testing.T, out []byte) {
	t.Helper()
	for rest := out; len(rest) > 0; {
		n, ok := skipReply(rest)
		if !ok {
			t.Fatalf("no whole reply at %q of %q", rest, out)
		}
		rest = rest[n:]
	}
}

func skipReply(b []byte) (n int, ok bool) {
	end := bytes.Index(b, []byte("\r\n"))
	if end < 1 {
		return 0, false
	}
	size := 0
	for _, c := range b[1:end] {
		if '0' <= c && c <= '9' {
			size = size*10 + int(c-'0')
		}
	}
	n = end + 2
	switch b[0] {
	case '+', '-', ':', '(', '_':
		return n, !bytes.ContainsAny(b[:end], "\r\n")
	case '$':
		if b[1] == '-' {
			return n, true
		}
		return n + size + 2, len(b) >= n+size+2 && b[n+size] == '\r' && b[n+size+1] == '\n'
	case '%':
		size *= 2
	case '*':
		if b[1] == '-' {
			return n, true
		}
	default:
		return 0, false
	}
	for range size {
		k, ok := skipReply(b[n:])
		if !ok {
			return 0, false
		}
		n += k
	}
	return n, true
}
