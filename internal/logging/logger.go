package logging

import (
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
)

// filter returns a line's keys and values as they are to be logged, and whether it is to be logged.
// It may keep the logger.
type filter func(to hclog.Logger, level hclog.Level, message string, args []any) ([]any, bool)

// filtered is a logger behind a filter.
type filtered struct {
	hclog.Logger
	filter filter
}

// Log implements hclog.Logger, as do the others.
func (f filtered) Log(level hclog.Level, message string, args ...any) {
	if args, ok := f.filter(f.Logger, level, message, args); ok {
		f.Logger.Log(level, message, args...)
	}
}

func (f filtered) Trace(message string, args ...any) { f.Log(hclog.Trace, message, args...) }
func (f filtered) Debug(message string, args ...any) { f.Log(hclog.Debug, message, args...) }
func (f filtered) Info(message string, args ...any)  { f.Log(hclog.Info, message, args...) }
func (f filtered) Warn(message string, args ...any)  { f.Log(hclog.Warn, message, args...) }
func (f filtered) Error(message string, args ...any) { f.Log(hclog.Error, message, args...) }

func (f filtered) With(args ...any) hclog.Logger {
	return filtered{f.Logger.With(written(args)...), f.filter}
}

func (f filtered) Named(name string) hclog.Logger {
	return filtered{f.Logger.Named(name), f.filter}
}

func (f filtered) ResetNamed(name string) hclog.Logger {
	return filtered{f.Logger.ResetNamed(name), f.filter}
}

// New makes a logger that writes durations with their units, and times in RFC 3339 to the
// millisecond in UTC, in JSON as in text.
func New(options *hclog.LoggerOptions) hclog.Logger {
	return filtered{hclog.New(options), func(_ hclog.Logger, _ hclog.Level, _ string, args []any) ([]any, bool) { return written(args), true }}
}

// Trusted makes a logger whose lines say the trusted time as well, while the clock that they are
// stamped by is not trusted.
func Trusted(to hclog.Logger, trusted func() (now time.Time, differs bool)) hclog.Logger {
	return filtered{to, func(to hclog.Logger, level hclog.Level, _ string, args []any) ([]any, bool) {
		if level < to.GetLevel() {
			return args, false
		}
		if now, differs := trusted(); differs {
			args = append(slices.Clone(args), "trusted_time", now)
		}
		return args, true
	}}
}

// TimeFormat is how times are written in the log and in replies.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// written returns args with durations and times as text.
func written(args []any) []any {
	args = slices.Clone(args)
	for i, arg := range args {
		switch arg := arg.(type) {
		case time.Duration:
			args[i] = arg.String()
		case time.Time:
			args[i] = arg.UTC().Format(TimeFormat)
		}
	}
	return args
}
