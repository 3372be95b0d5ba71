package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/e2e/bench/usage"
)

// The processes that the section has besides the daemon.
const (
	selfConstant = "constant"
	selfAsk      = "ask"
)

// webConnections ask for an ID each, one request at a time, and stay open.
const webConnections = 50

// measureWeb compares GET /v1/ids with a handler of the same library that answers a constant of the
// same size, on a Unix socket as well.
func measureWeb(ctx context.Context, s setting) (found report.Findings, err error) {
	daemon, err := enter(ctx, s, ours)
	if err != nil {
		return found, err
	}
	defer daemon.server.Kill()
	constant, err := enterSelf(ctx, s, selfConstant)
	if err != nil {
		return found, err
	}
	defer constant.server.Kill()
	var entered []inTurn[sample]
	for _, c := range []contestant{daemon, constant} {
		entered = append(entered, c.asked(selfAsk, s.length(2*time.Second), calls{}))
	}
	got, err := interleave(ctx, s.rounds(fullRounds, 2), entered...)
	if err != nil {
		return found, err
	}
	const group, peer = "HTTP", "net/http, a constant"
	what := fmt.Sprintf("GET /v1/ids, %d connections that stay open", webConnections)
	rate := versus(group, what, report.Rate, got[0], peer, got[1], rateOf)
	rate.Note = "an ID a request"
	found.Figures = append(found.Figures, rate.RatioAtLeast(0.85),
		versus(group, what+", the server's processor time for one", report.Seconds, got[0], peer, got[1], cpuOf))
	return found, daemon.server.Stop(ctx)
}

// enterSelf starts this program as a server that listens on a socket, which the caller kills.
func enterSelf(ctx context.Context, s setting, word string) (contestant, error) {
	c := contestant{name: word, socket: filepath.Join(s.dir, word)}
	var listens bool
	p, err := startReporting(ctx, word, c.socket, &listens)
	if err != nil {
		return c, err
	}
	c.server = p.Process
	return c, nil
}

// asking is what a client of the server is told.
type asking struct {
	Socket        string
	Length        time.Duration
	Count, Window int // see calls
}

// answered is what a client of the server's reports at its end.
type answered struct {
	Replies int64
	Took    time.Duration
}

// asked is the server asked for that long by this program as a client.
func (c contestant) asked(word string, length time.Duration, of calls) inTurn[sample] {
	return inTurn[sample]{name: c.name, measure: func(ctx context.Context) (sample, error) {
		before, err := usage.CPUOf(c.server.PID())
		if err != nil {
			return sample{}, err
		}
		var got answered
		if err := outcomeOf(ctx, word, asking{c.socket, length, of.count, of.window}, &got); err != nil {
			return sample{}, c.fault(err)
		}
		after, err := usage.CPUOf(c.server.PID())
		n := float64(got.Replies)
		return sample{rate: n / got.Took.Seconds(), cpu: (after - before).Seconds() / n}, err
	}}
}

// serveConstant answers as many bytes as an ID has, on a socket.
func serveConstant(ctx context.Context, socket string, report *json.Encoder) error {
	body := []byte(`{"ids":["117949486318465024"]}` + "\n")
	return serveOn(ctx, socket, report, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = w.Write(body)
	})})
}

// serveOn has a server serve on the socket, and reports once it listens.
func serveOn(ctx context.Context, socket string, report *json.Encoder, server *http.Server) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server.ReadHeaderTimeout = time.Minute
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := report.Encode(true); err != nil {
		return err
	}
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// askHTTP has connections ask for a time.
func askHTTP(ctx context.Context, what asking, report *json.Encoder) error {
	return askFor(ctx, what.Length, webConnections, report, func(ctx context.Context, replies *atomic.Int64) error {
		return askHTTPOn(ctx, what.Socket, replies)
	})
}

// askFor has several ask for a time, each of whom counts the replies, and reports how many came.
func askFor(ctx context.Context, length time.Duration, several int, report *json.Encoder, ask func(context.Context, *atomic.Int64) error) error {
	ctx, cancel := context.WithCancel(ctx) // a deadline would be told to the server
	defer cancel()
	defer time.AfterFunc(length, cancel).Stop()
	var replies atomic.Int64
	failed := make(chan error, several)
	var all sync.WaitGroup
	begun := time.Now()
	for range several {
		all.Go(func() {
			if err := ask(ctx, &replies); err != nil && ctx.Err() == nil {
				failed <- err
				cancel()
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return report.Encode(answered{replies.Load(), time.Since(begun)})
	}
}

func askHTTPOn(ctx context.Context, socket string, replies *atomic.Int64) error {
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	in := bufio.NewReader(c)
	request := []byte("GET /v1/ids HTTP/1.1\r\nHost: f\r\n\r\n")
	for {
		if _, err := c.Write(request); err != nil {
			return err
		}
		if err := readReply(in); err != nil {
			return err
		}
		replies.Add(1)
	}
}

// readReply reads a reply whose status is 200 and whose length is told.
func readReply(in *bufio.Reader) error {
	length := -1
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		switch {
		case err != nil:
			return err
		case first && string(line) != "HTTP/1.1 200 OK\r\n":
			return fmt.Errorf("the reply begins with %q", line)
		case len(line) == 2:
			if length < 0 {
				return errors.New("the reply tells no length")
			}
			_, err := in.Discard(length)
			return err
		}
		const name = "Content-Length: "
		if len(line) > len(name) && string(line[:len(name)]) == name {
			if length, err = strconv.Atoi(string(line[len(name) : len(line)-2])); err != nil {
				return err
			}
		}
	}
}
