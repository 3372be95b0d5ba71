package simulation

import (
	"runtime"
	"slices"
	"strings"
	"sync"
)

// End is how a request to the coordinator ended, and where: What is the request, Place is the
// function of the daemon that called for it, and learns of the end.
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
// learns what came of a request or a step. A function literal is a part of the one that it stands
// in.
func placed() string {
	var pcs [64]uintptr
	for _, depth := range []int{16, len(pcs)} { // a whole stack takes longer than the request
		for _, pc := range pcs[:runtime.Callers(2, pcs[:depth])] {
			if name := daemonFunction(pc); name != "" {
				return name
			}
		}
	}
	return "others"
}

// daemonFunctions are the results of daemonFunction: names are slow to find.
var daemonFunctions sync.Map

// daemonFunction is the name of the function at pc if it is the daemon's and does not only pass on
// what it is told.
func daemonFunction(pc uintptr) string {
	if known, ok := daemonFunctions.Load(pc); ok {
		return known.(string)
	}
	name := ""
	frames := runtime.CallersFrames([]uintptr{pc})
	for more := true; more && name == ""; {
		var frame runtime.Frame
		frame, more = frames.Next()
		_, function, _ := strings.Cut(frame.Function, "/daemon/")
		if function, _, _ = strings.Cut(function, ".func"); !slices.Contains(passing, function) {
			name = function
		}
	}
	daemonFunctions.Store(pc, name)
	return name
}
