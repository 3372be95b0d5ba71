package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/flakeward/flakeward/daemon/resp"
)

// mostBody bounds a body of parameters, in bytes.
const mostBody = 4 << 10

// parsers read the parameters of a body, by its type.
var parsers = map[string]func(text []byte) (url.Values, error){
	"application/x-www-form-urlencoded": func(text []byte) (url.Values, error) { return url.ParseQuery(string(text)) },
	"application/json":                  parseObject,
}

// posted reports whether the request is a POST that the path takes.
func (q *request) posted() bool { return q.at.posts && q.r.Method == http.MethodPost }

// meetBody bounds the body of a request, or has it ignored. It comes before all that may refuse the
// request: net/http reads what a refusal has left unread, and goes on behind it.
func (q *request) meetBody() {
	switch {
	case !q.posted():
		ignoreBody(q.w, q.r)
	case q.r.ContentLength != 0:
		boundBody(q.w, q.r)
	}
}

// readBody adds the parameters of the body to those of the URL. An empty body may be of any type.
func (q *request) readBody(params url.Values) *resp.Refusal {
	if q.r.ContentLength == 0 {
		return nil
	}
	kind, _, _ := mime.ParseMediaType(q.r.Header.Get("Content-Type"))
	parse := parsers[kind]
	wrongType := resp.Refuse(resp.WrongType, resp.Shown(q.r.Header.Get("Content-Type")))
	refuse := func(r *resp.Refusal) *resp.Refusal {
		ignoreBody(q.w, q.r)
		return r
	}
	switch {
	case q.r.ContentLength > mostBody:
		return refuse(resp.Refuse(resp.BadBody, errLongBody))
	case q.r.ContentLength > 0 && parse == nil:
		return refuse(wrongType)
	}
	text, err := io.ReadAll(http.MaxBytesReader(q.w, q.r.Body, mostBody))
	switch {
	case q.r.Context().Err() != nil || errors.Is(err, io.ErrUnexpectedEOF):
		return refuse(gone)
	case errors.As(err, new(*http.MaxBytesError)):
		return refuse(resp.Refuse(resp.BadBody, errLongBody))
	case err != nil:
		return refuse(resp.Refuse(resp.BadBody, err))
	case len(text) == 0:
		return nil
	case parse == nil:
		return wrongType
	}
	more, err := parse(text)
	if err != nil {
		return resp.Refuse(resp.BadBody, resp.Shown(err.Error()))
	}
	for name, values := range more {
		params[name] = append(params[name], values...)
	}
	return nil
}

var errLongBody = fmt.Errorf("it has more than %d bytes", mostBody)

// parseObject reads a JSON object, whose values are strings and numbers.
func parseObject(text []byte) (url.Values, error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New(`it is no JSON object: send one such as {"count":3}`)
	}
	all := url.Values{}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil, err
		}
		value, err := in.Token()
		if err != nil {
			return nil, err
		}
		switch value.(type) {
		case string, json.Number:
			all.Add(fmt.Sprint(name), fmt.Sprint(value))
		default:
			return nil, fmt.Errorf("%v is neither a string nor a number", name)
		}
	}
	if _, err := in.Token(); err != nil {
		return nil, err
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	return all, nil
}

// longAgo is when the body of a request had to be there that is not read, or no longer.
var longAgo = time.Unix(1, 0)

// endWithReply has the connection end with the reply: what follows may be a body.
func endWithReply(w http.ResponseWriter) { w.Header().Set("Connection", "close") }

// ignoreBody has nothing read of a body of HTTP/1, or nothing more.
func ignoreBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 && r.ProtoMajor == 1 {
		endWithReply(w)
		_ = http.NewResponseController(w).SetReadDeadline(longAgo)
	}
}

// boundBody has a body read to its end by when the reply must have been taken: net/http bounds the
// header alone.
func boundBody(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 { // there may have been a length as well, which others would go by
		endWithReply(w)
	}
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if !ok || r.ProtoMajor != 1 {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), server.WriteTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	_ = http.NewResponseController(w).SetReadDeadline(deadline)
}
