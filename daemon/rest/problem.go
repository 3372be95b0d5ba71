package rest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
)

// Problem is an error, as RFC 9457 has it.
type Problem struct {
	Type   string `json:"type"`   // urn:flakeward: and the code
	Title  string `json:"title"`  // of the status
	Status int    `json:"status"` // as in the reply's first line
	Detail string `json:"detail"` // what happened, and what the reader can do
	Code   string `json:"code"`   // for programs; stable

	// Largest is how many IDs can be had now, where too many were asked for.
	Largest *int `json:"largest,omitempty"`

	retry time.Duration // after which to try again; 0: it is of no use
}

// statuses are of the codes that are not of what keeps IDs from being issued: of those, the status
// is 503.
var statuses = map[string]int{
	"unknown-path": http.StatusNotFound, "wrong-method": http.StatusMethodNotAllowed,
	"bad-form": http.StatusBadRequest, "unknown-parameter": http.StatusBadRequest, "wrong-parameter": http.StatusBadRequest,
	"bad-count": http.StatusBadRequest, "count-too-high": http.StatusBadRequest,
	"bad-tenant": http.StatusBadRequest, "no-tenants": http.StatusBadRequest,
	"bad-id": http.StatusBadRequest, "wrong-id": http.StatusBadRequest,
	"user-rate": http.StatusTooManyRequests, "not-allowed": http.StatusForbidden, "not-here": http.StatusForbidden,
	"bad-body": http.StatusBadRequest, "wrong-type": http.StatusUnsupportedMediaType,
	"no-auth": http.StatusUnauthorized,
}

// soon is when to try again where nobody knows when it is of use.
const soon = time.Second

// problemOf makes a problem of a refusal; nil: there is none.
func problemOf(r *resp.Refusal) *Problem {
	if r == nil {
		return nil
	}
	status := statuses[r.Code]
	if status == 0 {
		status = http.StatusServiceUnavailable
	}
	p := &Problem{Type: "urn:flakeward:" + r.Code, Title: http.StatusText(status), Status: status, Detail: r.Text, Code: r.Code}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		p.retry = soon
	}
	return p
}

// problemOfTake makes a problem of why no IDs were issued.
func problemOfTake(err error) *Problem {
	if isGone(err) {
		return problemOf(gone)
	}
	refusal := resp.Refuse(resp.Unavailable, err)
	if code := issue.Code(err); code != "" {
		refusal.Code = code
	}
	p := problemOf(refusal)
	var many *issue.TooManyError
	var unavailable *issue.UnavailableError
	switch {
	case errors.As(err, &many):
		p.Largest, p.retry = &many.Largest, many.After
		if many.After == 0 { // never
			p.Status = http.StatusBadRequest
			p.Title = http.StatusText(p.Status)
		}
	case errors.As(err, &unavailable) && unavailable.For > 0:
		p.retry = unavailable.For
	case errors.Is(err, issue.ErrTenant):
		p.Status, p.retry = http.StatusBadRequest, 0
		p.Title = http.StatusText(p.Status)
	}
	return p
}

// refuse replies with a refusal.
func (q *request) refuse(r *resp.Refusal) { q.fail(problemOf(r)) }

// fail replies with a problem.
func (q *request) fail(p *Problem) {
	q.code = p.Code
	h := q.w.Header()
	if p.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(p.retry.Seconds())))))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Basic realm="flakeward", charset="UTF-8"`)
	}
	h.Set("Content-Type", "application/problem+json")
	h["Cache-Control"] = noStore
	q.w.WriteHeader(p.Status)
	if q.r.Method != http.MethodHead {
		_ = json.NewEncoder(q.w).Encode(p)
	}
}

// gone is what a client is told that has closed its side of the connection, if it still listens.
var gone = &resp.Refusal{Code: Gone, Text: "the client closed its side of the connection while the request waited: keep it open for the reply"}

// isGone reports whether an error means that the client has gone: it is its request's context's, as
// it is. What keeps IDs from being issued may have one behind it, too, as where the coordinator did
// not answer in time.
func isGone(err error) bool {
	return err == context.Canceled || err == context.DeadlineExceeded
}
