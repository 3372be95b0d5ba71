package rest

import (
	_ "embed" // for the document
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/instant"
	"github.com/flakeward/flakeward/internal/layouts"
)

// decode is GET /v1/ids/{id}.
func (s *Server) decode(q *request) {
	text := q.r.URL.Path[len(decodePath):]
	id, parts, refusal := s.config.decode(text, q.params.Get("as"))
	if refusal != nil {
		q.refuse(refusal)
		return
	}
	q.show(layouts.Decode(s.config.Layout, id, parts, form.MayBeRounded(text)))
}

// Bounds are the IDs of a span of time: from From on, and below Below. The keys are those of
// flakeward bounds --json.
type Bounds struct {
	From  string `json:"from"`
	Below string `json:"below"`
}

// bounds is GET /v1/bounds.
func (s *Server) bounds(q *request) {
	one := time.Unix(0, s.config.Clock.Now().Wall) // for both ends
	now := func() time.Time { return one }
	var span [2]time.Time
	for i, name := range []string{"from", "to"} {
		if !q.params.Has(name) {
			q.refuse(resp.Refuse(resp.WrongParameter, name, "it is missing"))
			return
		}
		text := q.params.Get(name)
		var err error
		if span[i], err = instant.Parse(resp.Shown(text), now); err != nil {
			if strings.Contains(text, " ") {
				err = fmt.Errorf("%w; write + as %%2B", err)
			}
			q.refuse(resp.Refuse(resp.WrongParameter, name, err))
			return
		}
	}
	from, below, err := s.config.Layout.Bounds(span[0], span[1])
	if err != nil {
		q.refuse(resp.Refuse(resp.WrongParameter, "from or to", err))
		return
	}
	q.show(Bounds{strconv.FormatInt(from, 10), strconv.FormatInt(below, 10)})
}

// status is GET /v1/status: what INFO shows, as flakeward status --json does.
func (s *Server) status(q *request) { q.show(s.config.Status().Typed()) }

// cluster is GET /v1/cluster.
func (s *Server) cluster(q *request) {
	members, err := s.config.Cluster(q.r.Context())
	switch {
	case q.r.Context().Err() != nil:
		q.refuse(gone)
	case err != nil:
		refusal := resp.Refuse(resp.Unavailable, err)
		refusal.Code = "coordinator-gone"
		q.refuse(refusal)
	default:
		q.show(members)
	}
}

// layout is GET /v1/layout.
func (s *Server) layout(q *request) {
	q.show(layouts.Of(s.config.Layout, time.Unix(0, s.config.Clock.Now().Wall)))
}

// show replies with a value as JSON.
func (q *request) show(value any) {
	text, err := json.Marshal(value)
	if err != nil {
		q.refuse(resp.Refuse(resp.Unavailable, err))
		return
	}
	q.head(typeJSON)
	_, _ = q.w.Write(append(text, '\n'))
}

//go:embed openapi.json
var document []byte

// openapi is GET /v1/openapi.json.
func (s *Server) openapi(q *request) {
	q.w.Header()["Content-Type"] = typeJSON
	_, _ = q.w.Write(document)
}
