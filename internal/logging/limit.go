package logging

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
)

// mostLines bounds how many messages of one code and user are told apart.
const mostLines = 64

// Limited is a logger for what clients can cause. Of lines with the same message, code and user it
// logs one at most every so long. If it leaves some out, it logs the last of them once it may, with
// the number of the others: left_out. Close follows its last line.
type Limited struct {
	hclog.Logger
	limiter *limiter
}

// Limit makes a Limited.
func Limit(to hclog.Logger, every time.Duration, clock clockguard.Clock) Limited {
	l := &limiter{every: every, clock: clock, seen: make(map[string]*passed)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return Limited{filtered{to, l.pass}, l}
}

// Close logs what was left out last. Lines that come later are not limited any more.
func (l Limited) Close() {
	l.limiter.mu.Lock()
	l.limiter.cancel()
	l.limiter.mu.Unlock()
	l.limiter.work.Wait()
}

// limiter remembers the lines that were logged last.
type limiter struct {
	every  time.Duration
	clock  clockguard.Clock
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	seen    map[string]*passed
	telling bool // the goroutine runs
}

// passed is when a line was logged last, and how many like it were left out since.
type passed struct {
	at      clockguard.Mono
	leftOut uint64
	last    line // of those
}

// line is a line that is not written yet.
type line struct {
	to      hclog.Logger
	level   hclog.Level
	message string
	args    []any
}

func (l line) write() { l.to.Log(l.level, l.message, l.args...) }

func (l *limiter) pass(to hclog.Logger, level hclog.Level, message string, args []any) ([]any, bool) {
	if level < to.GetLevel() {
		return nil, false
	}
	now := l.clock.Now().Mono
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return args, true
	}
	key := l.key(message, args, now)
	last := l.seen[key]
	if last == nil || last.leftOut == 0 && l.left(last, now) <= 0 {
		l.seen[key] = &passed{at: now}
		return args, true
	}
	last.leftOut++
	last.last = line{to, level, message, args}
	if !l.telling {
		l.telling = true
		l.work.Go(l.tell)
	}
	return nil, false
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
		if p.leftOut == 0 && l.left(p, now) <= 0 {
			delete(l.seen, k)
		}
	}
	if len(l.seen) < mostLines {
		return key
	}
	return message // the source has few
}

// left is how long it takes until such a line may be logged again.
func (l *limiter) left(p *passed, now clockguard.Mono) time.Duration { return l.every - now.Sub(p.at) }

// tell logs lines that were left out, each once it may be, until there are none.
func (l *limiter) tell() {
	for {
		lines, wait := l.due()
		for _, each := range lines {
			each.write()
		}
		if wait == 0 {
			return
		}
		_ = l.clock.Sleep(l.ctx, wait) // at the end, all are due
	}
}

// due takes the lines that may be logged, and returns how long it takes until the next one may be; 0:
// there is none.
func (l *limiter) due() (lines []line, wait time.Duration) {
	now := l.clock.Now().Mono
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.seen {
		left := l.left(p, now)
		switch {
		case p.leftOut == 0:
		case left <= 0 || l.ctx.Err() != nil:
			if p.leftOut > 1 {
				p.last.args = append(slices.Clone(p.last.args), "left_out", p.leftOut-1)
			}
			lines = append(lines, p.last)
			*p = passed{at: now}
		case wait == 0 || left < wait:
			wait = left
		}
	}
	l.telling = wait > 0
	return lines, wait
}
