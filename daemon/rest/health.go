package rest

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/resp"
)

// Health is what probes ask for.
type Health struct {
	// Live returns nil while the process serves: what it is asked for does not wait for the
	// coordinator. It ends with ctx.
	Live func(ctx context.Context) error
	// Ready says whether an ID can be had now. It does not block.
	Ready func() Readiness
}

// Readiness is whether IDs can be had, and what keeps them from being issued, or soon will.
type Readiness struct {
	Ready      bool        `json:"ready"`
	State      string      `json:"state"` // as in INFO
	Conditions []Condition `json:"conditions"`
}

// Condition is what keeps IDs from being issued, or soon will.
type Condition struct {
	Code   condition.Code `json:"code"`
	Detail string         `json:"detail"`
	Do     string         `json:"do"` // what an operator can do
}

// livez is GET /livez.
func (s *Server) livez(q *request) {
	if err := s.config.Health.Live(q.r.Context()); err != nil {
		q.probe(http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	q.probe(http.StatusOK, "ok\n")
}

// readyz is GET /readyz: a line, and with verbose one for each condition; or JSON.
func (s *Server) readyz(q *request) {
	is := s.config.Health.Ready()
	status, text := http.StatusOK, "ok\n"
	if !is.Ready {
		status, text = http.StatusServiceUnavailable, "no ID can be had: "+is.State+"\n"
	}
	if is.Conditions == nil {
		is.Conditions = []Condition{}
	}
	if q.accepts("application/json") {
		if q.head(typeJSON); !is.Ready {
			q.code = string(notReady(is))
			q.w.WriteHeader(status)
		}
		q.show(is)
		return
	}
	if !is.Ready || q.params.Has("verbose") {
		var lines strings.Builder
		for _, c := range is.Conditions {
			fmt.Fprintf(&lines, "%s: %s; %s\n", c.Code, oneLine(c.Detail), c.Do)
		}
		text += lines.String()
	}
	if q.params.Has("verbose") {
		text += "state: " + is.State + "\n"
	}
	if !is.Ready {
		q.code = string(notReady(is))
	}
	q.probe(status, text)
}

// notReady is the code of the first condition.
func notReady(r Readiness) condition.Code {
	if len(r.Conditions) > 0 {
		return r.Conditions[0].Code
	}
	return condition.NoWorker
}

func oneLine(text string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(text) }

// probe replies with a line for people, whose status is for programs.
func (q *request) probe(status int, text string) {
	q.head(typeText)
	if status != http.StatusOK && q.code == OK {
		q.code = resp.Refuse(resp.Unavailable, "").Code
	}
	q.w.WriteHeader(status)
	if q.r.Method != http.MethodHead {
		_, _ = q.w.Write([]byte(text))
	}
}
