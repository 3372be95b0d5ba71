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

	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/rounds"
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
	h, err := newHost(s.binary, filepath.Join(s.dir, "host"))
	if err != nil {
		return found, err
	}
	d, _, err := h.start(ctx)
	if err != nil {
		return found, err
	}
	defer d.Kill()
	peer := filepath.Join(s.dir, "constant")
	constant, err := startSelf(ctx, selfConstant, peer)
	if err != nil {
		return found, err
	}
	defer constant.end()
	var listens bool
	if err := constant.hear(&listens); err != nil {
		return found, err
	}
	var entered []rounds.Contestant[float64]
	for _, socket := range []string{h.socket, peer} {
		entered = append(entered, rounds.Contestant[float64]{Name: socket, Measure: func(ctx context.Context) (rate float64, err error) {
			client, err := startSelf(ctx, selfAsk, socket, s.length(2*time.Second).String())
			if err != nil {
				return 0, err
			}
			defer client.end()
			return rate, client.hear(&rate)
		}})
	}
	got, err := rounds.Interleave(ctx, s.rounds(fullRounds, 2), entered...)
	if err != nil {
		return found, err
	}
	found.Figures = append(found.Figures, report.Figure{
		Group: "HTTP", What: fmt.Sprintf("GET /v1/ids, %d connections that stay open", webConnections), Unit: report.Rate,
		Ours: got[0], Peer: "net/http, a constant", Theirs: got[1], Note: "an ID a request; load by this program",
	}.RatioAtLeast(0.85))
	return found, d.Stop()
}

// serveConstant answers as many bytes as an ID has, on a socket.
func serveConstant(ctx context.Context, args []string, report *json.Encoder) error {
	if len(args) != 1 {
		return errors.New("the socket's path is missing")
	}
	l, err := net.Listen("unix", args[0])
	if err != nil {
		return err
	}
	body := []byte(`{"ids":["117949486318465024"]}` + "\n")
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = w.Write(body)
	})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := report.Encode(true); err != nil {
		return err
	}
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// askHTTP has connections ask for a time, and reports how many replies came in a second.
func askHTTP(ctx context.Context, args []string, report *json.Encoder) error {
	if len(args) != 2 {
		return errors.New("the socket's path and a duration are missing")
	}
	length, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var replies atomic.Int64
	failed := make(chan error, webConnections)
	var all sync.WaitGroup
	begun := time.Now()
	for range webConnections {
		all.Go(func() {
			if err := askHTTPOn(ctx, args[0], &replies); err != nil && ctx.Err() == nil {
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
		return report.Encode(float64(replies.Load()) / time.Since(begun).Seconds())
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
