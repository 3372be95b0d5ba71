package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"

	"github.com/flakeward/flakeward/daemon/resp"
)

// mostBody bounds a body of parameters, in bytes.
const mostBody = 4 << 10

// posted reports whether the request is a POST that the path takes.
func (q *request) posted() bool { return q.at.posts && q.r.Method == http.MethodPost }

// bodies read the parameters of a body, by its type.
var bodies = map[string]func(text []byte) (url.Values, error){
	"application/x-www-form-urlencoded": func(text []byte) (url.Values, error) { return url.ParseQuery(string(text)) },
	"application/json":                  parseObject,
}

// readBody adds the parameters of the body to those of the URL. An empty body may be of any type.
func readBody(w http.ResponseWriter, r *http.Request, params url.Values) *resp.Refusal {
	if r.ContentLength == 0 {
		return nil
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	parse := bodies[kind]
	if err != nil || parse == nil {
		kind, parse = r.Header.Get("Content-Type"), nil
	}
	switch {
	case r.ContentLength > mostBody:
		ignoreBody(w, r)
		return resp.Refuse(resp.BadBody, errLongBody)
	case r.ContentLength > 0 && parse == nil:
		ignoreBody(w, r)
		return resp.Refuse(resp.WrongType, resp.Shown(kind))
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, mostBody+1))
	switch {
	case r.Context().Err() != nil || errors.Is(err, io.ErrUnexpectedEOF):
		ignoreBody(w, r)
		return gone
	case err != nil:
		ignoreBody(w, r)
		return resp.Refuse(resp.BadBody, err)
	case len(text) > mostBody:
		ignoreBody(w, r)
		return resp.Refuse(resp.BadBody, errLongBody)
	case len(text) == 0:
		return nil
	case parse == nil:
		return resp.Refuse(resp.WrongType, resp.Shown(kind))
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
