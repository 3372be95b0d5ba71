// Package sockettest has what tests of a daemon's clients share: sockets, and servers on them that
// answer as a test says.
package sockettest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Dir is a directory whose path is short enough for a socket in it, which that of t.TempDir is not.
// It is removed with the test.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Conn is a connection as its server has it.
type Conn struct {
	*net.UnixConn
	In *bufio.Reader
}

// Serve accepts connections until the test ends, and has handle serve each of them, from number 0
// on; when that returns, the connection is closed.
func Serve(t testing.TB, handle func(number int, c *Conn)) (socket string) {
	t.Helper()
	socket = filepath.Join(Dir(t), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for number := 0; ; number++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close() // the test reads what it is sent
				handle(number, &Conn{c.(*net.UnixConn), bufio.NewReader(c)})
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return socket
}

// Answer serves a connection with a reply to each request, until reply returns false. The words
// have a space between them.
func (c *Conn) Answer(reply func(request string) (text string, more bool)) {
	for {
		words, err := Request(c.In)
		if err != nil {
			return
		}
		text, more := reply(strings.Join(words, " "))
		if _, err := io.WriteString(c, text); err != nil || !more {
			return
		}
	}
}

// Request reads one request, an array of strings.
func Request(in *bufio.Reader) (words []string, err error) {
	var count, size int
	if _, err := fmt.Fscanf(in, "*%d\r\n", &count); err != nil {
		return nil, err
	}
	for range count {
		if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil {
			return nil, err
		}
		b := make([]byte, size+2)
		if _, err := io.ReadFull(in, b); err != nil {
			return nil, err
		}
		words = append(words, string(b[:size]))
	}
	return words, nil
}
