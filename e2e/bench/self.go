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

	"github.com/flakeward/flakeward/internal/process"
)

// What has to be another process is this program started again, with one of these words and what it
// is told, in JSON. It reports on its standard output, in lines of JSON.
var selves = map[string]func(context.Context, []string, *json.Encoder) error{
	selfGenerate: told(generate),
	selfPace:     told(servePace),
	selfConstant: told(serveConstant),
	selfAsk:      told(askHTTP),
	selfEcho:     told(serveEcho),
	selfCall:     told(call),
}

// told reads what a process is told.
func told[T any](do func(context.Context, T, *json.Encoder) error) func(context.Context, []string, *json.Encoder) error {
	return func(ctx context.Context, args []string, report *json.Encoder) error {
		var what T
		if len(args) != 1 {
			return fmt.Errorf("%d arguments: one is needed, a %T in JSON", len(args), what)
		}
		if err := json.Unmarshal([]byte(args[0]), &what); err != nil {
			return fmt.Errorf("%q is no %T in JSON: %w", args[0], what, err)
		}
		return do(ctx, what, report)
	}
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
	*process.Process
	out     *io.PipeReader
	reports *json.Decoder
}

func startSelf(ctx context.Context, word string, what any) (*self, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	s, err := process.Start(ctx, process.Program{Command: []string{program, word, string(text)}, Out: in})
	if err != nil {
		return nil, err
	}
	go func() { // it ends with the process, which end waits for
		<-s.Ended()
		_ = in.Close()
	}()
	return &self{Process: s, out: out, reports: json.NewDecoder(out)}, nil
}

// startReporting is startSelf, and waits for the first report.
func startReporting(ctx context.Context, word string, what, report any) (*self, error) {
	s, err := startSelf(ctx, word, what)
	if err != nil {
		return nil, err
	}
	if err := s.hear(report); err != nil {
		s.end()
		return nil, err
	}
	return s, nil
}

// outcomeOf runs such a process to its only report.
func outcomeOf(ctx context.Context, word string, what, report any) error {
	s, err := startReporting(ctx, word, what, report)
	if err == nil {
		s.end()
	}
	return err
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
	_ = s.Kill()      // it may be gone
}
