package rest

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// The types of replies, as header fields.
var (
	typeJSON   = []string{"application/json"}
	typeText   = []string{"text/plain; charset=utf-8"}
	typeNDJSON = []string{"application/x-ndjson"}
	noStore    = []string{"no-store"}
)

// keptRoom is how large a connection's buffer may be that is kept for its next request, in bytes.
const keptRoom = 4 << 10

// runBytes is what a run takes in memory.
const runBytes = 16

// ids is GET /v1/ids.
func (s *Server) ids(q *request) {
	tenant, count, refusal := q.wanted()
	if refusal != nil {
		q.refuse(refusal)
		return
	}
	as, refusal := q.form()
	if refusal != nil {
		q.refuse(refusal)
		return
	}
	text := q.accepts("text/plain")
	switch {
	case q.r.Method == http.MethodHead && text:
		q.head(typeText)
	case q.accepts("application/x-ndjson"):
		if q.head(typeNDJSON); q.r.Method != http.MethodHead {
			s.stream(q, tenant, count, as)
		}
	case q.r.Method == http.MethodHead: // which must not have an effect
		q.head(typeJSON)
	default:
		runs, err := s.config.Take.Take(q.r.Context(), &q.client.issue, tenant, count, as, q.client.runs[:0])
		if err != nil {
			q.refused(err)
			return
		}
		out := q.client.room[:0]
		if text {
			q.head(typeText)
			out = s.appendEach(out, as, runs, "", "\n")
		} else {
			q.head(typeJSON)
			out = append(out, `{"ids":[`...)
			out = s.appendEach(out, as, runs, `"`, `",`)
			out = append(out[:len(out)-1], "]}\n"...)
		}
		q.send(out, runs)
	}
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

// stream sends each ID as soon as there is one, as an object on a line of its own. What ends a
// stream too early is the last line, or the reply where there is no other.
func (s *Server) stream(q *request, tenant uint32, count int, as form.Form) {
	flush := http.NewResponseController(q.w)
	sent := 0
	err := s.config.Take.Each(q.r.Context(), &q.client.issue, tenant, count, func(run generator.Run) error {
		q.client.room = s.appendEach(q.client.room[:0], as, []generator.Run{run}, `{"id":"`, "\"}\n")
		q.client.replies(cap(q.client.room))
		if s.config.Count != nil {
			s.config.Count.Issued(as, uint64(run.N))
		}
		sent += run.N
		if _, err := q.w.Write(q.client.room); err != nil {
			return errBroken
		}
		if sent < count && flush.Flush() != nil { // the end of the reply sends the last
			return errBroken
		}
		return nil
	})
	switch {
	case err != nil && sent == 0:
		q.refused(err)
	case err != nil:
		p := problemOfTake(err)
		q.code = p.Code
		_ = json.NewEncoder(q.w).Encode(map[string]Problem{"problem": p})
	}
	q.keep(q.client.room, q.client.runs)
}

// runs is GET /v1/runs.
func (s *Server) runs(q *request) {
	tenant, count, refusal := q.wanted()
	if refusal != nil {
		q.refuse(refusal)
		return
	}
	if q.r.Method == http.MethodHead {
		q.head(typeJSON)
		return
	}
	runs, err := s.config.Take.Take(q.r.Context(), &q.client.issue, tenant, count, form.Integer, q.client.runs[:0])
	if err != nil {
		q.refused(err)
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
	q.head(typeJSON)
	q.send(append(out, "]}\n"...), runs)
}

// refused replies why there are no IDs.
func (q *request) refused(err error) {
	q.fail(problemOfTake(err))
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
