package logging

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// filter returns a line's keys and values as they are to be logged, and whether it is to be logged.
type filter func(level hclog.Level, message string, args []any) ([]any, bool)

// filtered is a logger behind a filter.
type filtered struct {
	hclog.Logger
	filter filter
}

// Log implements hclog.Logger, as do the others.
func (f filtered) Log(level hclog.Level, message string, args ...any) {
	if args, ok := f.filter(level, message, args); ok {
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
	return filtered{hclog.New(options), func(_ hclog.Level, _ string, args []any) ([]any, bool) { return written(args), true }}
}

// TimeFormat is how times are written in the log and in replies.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// written returns args with durations and times as text.
func written(args []any) []any {
	copied := false
	for i, arg := range args {
		var text string
		switch arg := arg.(type) {
		case time.Duration:
			text = arg.String()
		case time.Time:
			text = arg.UTC().Format(TimeFormat)
		default:
			continue
		}
		if !copied {
			args, copied = slices.Clone(args), true
		}
		args[i] = text
	}
	return args
}

// Limit makes a logger for what clients can cause. It logs each message at most once every so long,
// as now tells the time, and then says how many were left out before: left_out.
func Limit(to hclog.Logger, every time.Duration, now func() time.Duration) hclog.Logger {
	l := &limiter{every: every, now: now, seen: map[string]*passed{}}
	return filtered{to, l.pass}
}

// limiter counts lines by their message. The messages are those of the source, so they are few.
type limiter struct {
	every time.Duration
	now   func() time.Duration

	mu   sync.Mutex
	seen map[string]*passed
}

// passed is when a message was logged last, and how many of it were left out since.
type passed struct {
	at      time.Duration
	leftOut uint64
}

func (l *limiter) pass(_ hclog.Level, message string, args []any) ([]any, bool) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.seen[message]
	switch {
	case last == nil:
		l.seen[message] = &passed{at: now}
		return args, true
	case now-last.at < l.every:
		last.leftOut++
		return nil, false
	}
	leftOut := last.leftOut
	*last = passed{at: now}
	if leftOut > 0 {
		args = append(slices.Clone(args), "left_out", leftOut)
	}
	return args, true
}
