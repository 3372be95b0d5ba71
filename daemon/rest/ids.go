package rest

import (
	"net/http"
	"strconv"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// The types of replies, as header fields.
var (
	typeJSON = []string{"application/json"}
	typeText = []string{"text/plain; charset=utf-8"}
	noStore  = []string{"no-store"}
)

// keptRoom is how large a connection's buffer may be that is kept for its next request, in bytes.
const keptRoom = 4 << 10

// runBytes is what a run takes in memory.
const runBytes = 16

// ids is GET /v1/ids.
func (s *Server) ids(q *request) {
	as, refusal := q.form()
	if refusal != nil {
		q.refuse(refusal)
		return
	}
	text := q.accepts("text/plain")
	kind := typeJSON
	if text {
		kind = typeText
	}
	runs, ok := q.take(as, kind)
	if !ok {
		return
	}
	out := q.client.room[:0]
	if text {
		out = s.appendEach(out, as, runs, "", "\n")
	} else {
		out = append(out, `{"ids":[`...)
		out = s.appendEach(out, as, runs, `"`, `",`)
		out = append(out[:len(out)-1], "]}\n"...)
	}
	q.send(out, runs)
}

// take takes the IDs that are asked for, and writes the header of the reply, which is all of it for
// HEAD: that must not have an effect. It reports whether the reply goes on.
func (q *request) take(as form.Form, kind []string) (runs []generator.Run, ok bool) {
	tenant, count, refusal := q.wanted()
	switch {
	case refusal != nil:
		q.refuse(refusal)
		return nil, false
	case q.r.Method == http.MethodHead:
		q.head(kind)
		return nil, false
	}
	runs, err := q.s.config.Take.Take(q.r.Context(), &q.client.issue, tenant, count, as, q.client.runs[:0])
	if err != nil {
		q.fail(problemOfTake(err))
		return nil, false
	}
	q.head(kind)
	return runs, true
}

// appendEach appends each ID with what stands before and behind it.
func (s *Server) appendEach(out []byte, as form.Form, runs []generator.Run, before, behind string) []byte {
	step, coder := s.config.Layout.Step(), s.config.coder()
	for _, run := range runs {
		for k := range run.N {
			out = append(out, before...)
			out = coder.Append(out, as, run.First+int64(k)*step)
			out = append(out, behind...)
		}
	}
	return out
}

// runs is GET /v1/runs.
func (s *Server) runs(q *request) {
	runs, ok := q.take(form.Integer, typeJSON)
	if !ok {
		return
	}
	out := append(q.client.room[:0], `{"step":"`...)
	out = strconv.AppendInt(out, s.config.Layout.Step(), 10)
	out = append(out, `","runs":[`...)
	for i, run := range runs {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"first":"`...)
		out = strconv.AppendInt(out, run.First, 10)
		out = append(out, `","count":`...)
		out = strconv.AppendInt(out, int64(run.N), 10)
		out = append(out, '}')
	}
	q.send(append(out, "]}\n"...), runs)
}

// head sets the header of a reply that nobody may keep.
func (q *request) head(kind []string) {
	h := q.w.Header()
	h["Content-Type"], h["Cache-Control"] = kind, noStore
}

// send sends a reply.
func (q *request) send(reply []byte, runs []generator.Run) {
	q.client.replies(cap(reply) + runBytes*cap(runs))
	_, _ = q.w.Write(reply)
	q.keep(reply, runs)
}

// keep keeps what was needed for a request for the connection's next, if that is little.
func (q *request) keep(room []byte, runs []generator.Run) {
	q.client.room, q.client.runs = nil, nil
	if cap(room) <= keptRoom {
		q.client.room = room
	}
	if cap(runs) <= keptRoom/runBytes {
		q.client.runs = runs
	}
}
