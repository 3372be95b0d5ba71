package daemon

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/flakeward/flakeward/generator"
)

// mostRelayed is how many requests are passed on at once: each has a connection of its own.
const mostRelayed = 16

// relay passes requests on to the daemon that has taken over. Their connections stay behind, and so
// does who may have begun to wait on them.
type relay struct {
	path  string // of the socket
	turns chan struct{}
}

func newRelay(path string) *relay { return &relay{path, make(chan struct{}, mostRelayed)} }

// take takes n IDs. They are above all that this process has issued.
func (r *relay) take(ctx context.Context, tenant uint32, n int) (runs []generator.Run, err error) {
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c, err := new(net.Dialer).DialContext(ctx, "unix", r.path)
	if err != nil {
		return nil, err
	}
	defer c.Close() // all has been said
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	request := fmt.Sprintf("RUN %d", n)
	if tenant != 0 {
		request += fmt.Sprintf(" TENANT %d", tenant)
	}
	if _, err := io.WriteString(c, request+"\r\n"); err != nil {
		return nil, err
	}
	return readRuns(bufio.NewReader(c), n)
}

// readRuns reads the reply to RUN: the step, and the first ID and the length of each run. They must
// be n IDs.
func readRuns(reply *bufio.Reader, n int) (runs []generator.Run, err error) {
	numbers, err := readNumber(reply, '*')
	if err != nil {
		return nil, err
	}
	if _, err := readNumber(reply, ':'); err != nil { // the step is the layout's, so this process's
		return nil, err
	}
	for range (numbers - 1) / 2 {
		first, err := readNumber(reply, ':')
		if err != nil {
			return nil, err
		}
		length, err := readNumber(reply, ':')
		if err != nil {
			return nil, err
		}
		if length < 1 || length > int64(n) {
			return nil, fmt.Errorf("a run has %d IDs, and %d are left", length, n)
		}
		n -= int(length)
		runs = append(runs, generator.Run{First: first, N: int(length)})
	}
	if n != 0 {
		return nil, fmt.Errorf("%d IDs are missing", n)
	}
	return runs, nil
}

// readNumber reads a line that is of that kind.
func readNumber(reply *bufio.Reader, kind byte) (int64, error) {
	line, err := reply.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("the reply is %.200q", line)
	}
	return strconv.ParseInt(strings.TrimSpace(line[1:]), 10, 64)
}
