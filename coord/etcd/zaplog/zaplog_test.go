package zaplog

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/zap"
)

func logger(level hclog.Level) (*bytes.Buffer, hclog.Logger) {
	var b bytes.Buffer
	return &b, hclog.New(&hclog.LoggerOptions{Output: &b, Level: level, DisableTime: true})
}

func TestLevels(t *testing.T) {
	for level, want := range map[hclog.Level]string{
		hclog.Trace: "debug info warn error",
		hclog.Debug: "info warn error",
		hclog.Info:  "",
		hclog.Off:   "",
	} {
		b, l := logger(level)
		z := New(l, nil)
		z.Debug("debug")
		z.Info("info")
		z.Warn("warn")
		z.Error("error")
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
			if fields := strings.Fields(line); len(fields) > 0 {
				got = append(got, fields[len(fields)-1])
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("at %v: %q, want %q", level, s, want)
		}
	}
}

func TestFieldsWithoutSecrets(t *testing.T) {
	b, l := logger(hclog.Trace)
	z := New(l, nil).With(zap.String("member", "m1"))
	z.Warn("message", zap.Int("n", 7), zap.Duration("took", time.Second), zap.Error(errors.New("broken")),
		zap.String("password", "hunter2"), zap.String("auth-Token", "hunter3"), zap.Strings("endpoints", []string{"h1", "h2"}))
	for _, want := range []string{"[DEBUG]", "message", "member=m1", "n=7", "took=1s", "broken", "h1", "h2"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q lacks %q", b, want)
		}
	}
	if strings.Contains(b.String(), "hunter") {
		t.Errorf("%q shows a secret", b)
	}
}

func TestFatalEndsTheGoroutineOnly(t *testing.T) {
	for _, level := range []hclog.Level{hclog.Trace, hclog.Off} {
		_, l := logger(level)
		var got string
		z := New(l, func(message string) { got = message })
		for _, end := range []func(string, ...zap.Field){z.Fatal, z.Panic} {
			got = ""
			done := make(chan bool, 1)
			go func() {
				defer func() { done <- true }()
				end("disk", zap.Error(errors.New("no space")))
				done <- false
			}()
			if ended := <-done; !ended || got != "disk: no space" {
				t.Errorf("at %v: ended %v, told %q", level, ended, got)
			}
		}
	}
}
