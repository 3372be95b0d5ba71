// Package zaplog lets etcd's client and server, which log with zap, log to hclog.
package zaplog

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// New returns a zap logger that writes to log. What etcd finds worth a warning or
// an error is for debugging: to the operator of a daemon matters what a call came
// to, and that is in the call's own error. Values whose key names a secret are
// left out.
//
// A fatal message or a panic does not end the process: failed is called with it,
// once for each, and then the goroutine that logged it ends.
func New(log hclog.Logger, failed func(message string)) *zap.Logger {
	return zap.New(&core{log: log}, zap.WithFatalHook(hook{failed}), zap.WithPanicHook(hook{failed}))
}

type hook struct{ failed func(string) }

func (h hook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	message := entry.Message
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			message += ": " + err.Error()
		}
	}
	if h.failed != nil {
		h.failed(message)
	}
	runtime.Goexit()
}

// core implements zapcore.Core.
type core struct {
	log    hclog.Logger
	fields []zapcore.Field
}

func levelOf(l zapcore.Level) hclog.Level {
	switch {
	case l <= zapcore.DebugLevel:
		return hclog.Trace
	case l <= zapcore.ErrorLevel:
		return hclog.Debug
	default:
		return hclog.Error
	}
}

func (c *core) Enabled(l zapcore.Level) bool {
	own := c.log.GetLevel()
	return own != hclog.Off && levelOf(l) >= own
}

func (c *core) With(fields []zapcore.Field) zapcore.Core {
	return &core{log: c.log, fields: slices.Concat(c.fields, fields)}
}

func (c *core) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c *core) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	encoder := zapcore.NewMapObjectEncoder()
	var args []any
	for _, f := range slices.Concat(c.fields, fields) {
		f.AddTo(encoder)
		if v, ok := encoder.Fields[f.Key]; ok && !secret(f.Key) {
			args = append(args, f.Key, plain(v))
		}
	}
	c.log.Log(levelOf(entry.Level), entry.Message, args...)
	return nil
}

func (c *core) Sync() error { return nil }

// plain keeps structured values on one line.
func plain(v any) any {
	switch v.(type) {
	case map[string]any, []any:
		return fmt.Sprint(v)
	}
	return v
}

func secret(key string) bool {
	key = strings.ToLower(key)
	for _, word := range []string{"password", "secret", "auth", "token"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}
