package simulation

import (
	"runtime"
	"slices"
	"strings"
)

// End is how a request to the coordinator ended, and where: What is the request, Place is the function
// of the daemon that called for it, and learns of the end.
type End struct{ What, How, Place string }

// How a request ends.
const (
	Answered = "answered"
	Refusal  = "refused"
	Unheard  = "no answer, nothing stored" // it may arrive later
	Unknown  = "no answer, but stored"
	Landed   = "arrives after it was given up"
)

// Ends counts ends.
type Ends map[End]uint64

// Add adds up what ended.
func (e Ends) Add(more Ends) {
	for end, n := range more {
		e[end] += n
	}
}

// ended counts an end.
func (p *proc) ended(what, how, place string) {
	p.sim.ends[End{what, how, place}]++
}

// passing are the functions of daemon/grant that only pass on what came of a request.
var passing = []string{"grant.(*Holder).ask", "grant.(*Holder).release"}

// placed is the function of daemon/grant or daemon/lifecycle that is running: the nearest one that
// learns what came of a request or a step. A function literal is a part of the one that it stands in.
func placed() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if _, name, ok := strings.Cut(frame.Function, "/daemon/"); ok {
			if name, _, _ = strings.Cut(name, ".func"); !slices.Contains(passing, name) {
				return name
			}
		}
		if !more {
			return "others"
		}
	}
}
