package pods

import (
	"errors"
	"sync"
	"time"

	"github.com/flakeward/flakeward/internal/logging"
)

// Code is why a directory has no socket. Codes are stable: people's alerts go by them.
type Code string

// The codes there are. docs/pods.md says what to do about each.
const (
	CodeFull       Code = "pod-sockets-full"
	CodeIncomplete Code = "pod-directory-incomplete"
	CodeDirectory  Code = "pod-directory-bad"
	CodeUser       Code = "pod-user-bad"
	CodeInUse      Code = "pod-socket-in-use"
	CodeFailed     Code = "pod-socket-failed"
)

// RefusedError says why a directory has no socket.
type RefusedError struct {
	Code   Code
	Reason string
}

func (e *RefusedError) Error() string { return e.Reason }

const (
	// mostRefused bounds what is remembered of directories without a socket.
	mostRefused = 8192
	// logEvery is the least time between two lines of the log with the same code.
	logEvery = time.Second
)

// refusals are the directories without a socket, and what was said of them.
type refusals struct {
	log logging.Limited

	mu  sync.Mutex
	all map[string]refusal
}

type refusal struct {
	code Code
	said bool
}

func newRefusals(c Config) *refusals {
	return &refusals{log: logging.Limit(c.Log, logEvery, c.Clock), all: make(map[string]refusal)}
}

// add notes why a directory has no socket, and says it once. One that is not complete may be in the
// making, so that is said if it is still so when it is looked at again. It reports whether to look
// soon.
func (r *refusals) add(name string, why error) (soon bool) {
	refused := &RefusedError{Code: CodeFailed, Reason: why.Error()}
	errors.As(why, &refused)
	r.mu.Lock()
	before, known := r.all[name]
	now := refusal{refused.Code, known && before.code == refused.Code && before.said}
	say := !now.said && (refused.Code != CodeIncomplete || known && before.code == CodeIncomplete)
	now.said = now.said || say
	if known || len(r.all) < mostRefused {
		r.all[name] = now
	}
	r.mu.Unlock()
	if say {
		r.log.Warn("a pod gets no socket", "code", refused.Code, "directory", name, "reason", refused.Reason)
	}
	return refused.Code == CodeIncomplete || refused.Code == CodeFailed
}

func (r *refusals) remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, name)
}

// keep forgets the directories that are not there.
func (r *refusals) keep(there map[string]struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.all {
		if _, is := there[name]; !is {
			delete(r.all, name)
		}
	}
}

func (r *refusals) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}
