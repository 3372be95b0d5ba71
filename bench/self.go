package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/flakeward/flakeward/bench/server"
)

// What has to be another process is this program started again, with one of these words before its
// own arguments. It reports on its standard output, in lines of JSON.
var selves = map[string]func(context.Context, []string, *json.Encoder) error{
	selfPull:     pull,
	selfHold:     hold,
	selfEtcd:     serveEtcd,
	selfGenerate: generate,
	selfExpand:   serveExpand,
	selfPace:     servePace,
	selfCount:    count,
	selfConstant: serveConstant,
	selfAsk:      askHTTP,
	selfEcho:     serveEcho,
	selfCall:     call,
}

func isSelf(args []string) bool { return len(args) > 0 && selves[args[0]] != nil }

func selfMain(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := selves[args[0]](ctx, args[1:], json.NewEncoder(os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, args[0]+":", err)
		return 1
	}
	return 0
}

// self is this program in another process.
type self struct {
	*server.Server
	out     *io.PipeReader
	reports *json.Decoder
}

func startSelf(ctx context.Context, word string, args ...string) (*self, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	s, err := server.Start(ctx, server.Program{Path: program, Args: append([]string{word}, args...), Out: in})
	if err != nil {
		return nil, err
	}
	go func() { // it ends with the process, which end waits for
		<-s.Ended()
		_ = in.Close()
	}()
	return &self{Server: s, out: out, reports: json.NewDecoder(out)}, nil
}

// hear waits for the next report.
func (s *self) hear(report any) error {
	err := s.reports.Decode(report)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return s.Gone()
	}
	return err
}

// end ends the process, whatever it does.
func (s *self) end() {
	_ = s.out.Close() // else it might wait for a reader
	s.Kill()
}
