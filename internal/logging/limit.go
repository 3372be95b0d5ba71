package logging

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
)

// mostLines bounds how many messages of one code and user are told apart.
const mostLines = 64

// Limit makes a logger for what clients can cause. Of lines with the same message, code and user it
// logs one at most every so long, with the number of those before it that it has left out:
// left_out.
func Limit(to hclog.Logger, every time.Duration, clock clockguard.Clock) hclog.Logger {
	l := &limiter{every: every, clock: clock, seen: make(map[string]*passed)}
	return filtered{to, l.pass}
}

// limiter remembers the lines that were logged last.
type limiter struct {
	every time.Duration
	clock clockguard.Clock

	mu   sync.Mutex
	seen map[string]*passed
}

// passed is when a line was logged last, and how many like it were left out since.
type passed struct {
	at      clockguard.Mono
	leftOut uint64
}

func (l *limiter) pass(to hclog.Logger, level hclog.Level, message string, args []any) ([]any, bool) {
	if level < to.GetLevel() {
		return nil, false
	}
	now := l.clock.Now().Mono
	l.mu.Lock()
	defer l.mu.Unlock()
	key := l.key(message, args, now)
	last := l.seen[key]
	switch {
	case last == nil:
	case now.Sub(last.at) < l.every:
		last.leftOut++
		return nil, false
	case last.leftOut > 0:
		args = append(slices.Clone(args), "left_out", last.leftOut)
	}
	l.seen[key] = &passed{at: now}
	return args, true
}

// key is what tells lines apart. Where there are too many, the message alone does.
func (l *limiter) key(message string, args []any, now clockguard.Mono) string {
	key := message
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == "code" || args[i] == "user" {
			key = fmt.Sprint(key, "\x00", args[i+1])
		}
	}
	if _, known := l.seen[key]; known || len(l.seen) < mostLines {
		return key
	}
	for k, p := range l.seen {
		if now.Sub(p.at) >= l.every {
			delete(l.seen, k)
		}
	}
	if len(l.seen) < mostLines {
		return key
	}
	return message // the source has few
}
