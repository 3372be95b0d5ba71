package doors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// document is the daemon's, and what a client has used of it.
type document struct {
	*openapi3.T
	router routers.Router
	next   http.RoundTripper
	used   map[string]bool
}

func newDocument(t *testing.T, text []byte, next http.RoundTripper) *document {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &document{doc, router, next, map[string]bool{}}
}

// RoundTrip notes what a request and its response have of the document.
func (d *document) RoundTrip(r *http.Request) (*http.Response, error) {
	get := r.Clone(r.Context())
	get.Method = http.MethodGet
	route, params, err := d.router.FindRoute(get)
	if err != nil {
		return nil, err
	}
	for name := range params {
		d.used[route.Path+" "+name] = true
	}
	for name, values := range r.URL.Query() {
		d.used[route.Path+" "+name] = true
		d.used[route.Path+" "+name+"="+values[0]] = true
	}
	reply, err := d.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(reply.Body)
	_ = reply.Body.Close()
	if err != nil {
		return nil, err
	}
	reply.Body = io.NopCloser(bytes.NewReader(body))
	kind, _, _ := strings.Cut(reply.Header.Get("Content-Type"), ";")
	d.used[fmt.Sprint(route.Path, " ", reply.StatusCode, " ", kind)] = true
	for name := range reply.Header {
		d.used[fmt.Sprint(route.Path, " ", reply.StatusCode, " ", name)] = true
	}
	if answers := route.Operation.Responses.Status(reply.StatusCode); answers == nil || answers.Value.Content.Get(kind) == nil {
		return nil, fmt.Errorf("%s %s replies with %d and %s, which is not in the document", r.Method, r.URL, reply.StatusCode, kind)
	} else if strings.HasSuffix(strings.ReplaceAll(kind, "+", "/"), "/json") {
		var value any
		if err := json.Unmarshal(body, &value); err != nil {
			return nil, err
		}
		d.fields(route.Path, answers.Value.Content.Get(kind).Schema, func(name string) { d.used[name] = true }, &value)
	}
	return reply, nil
}

// fields visits the fields of a schema that a value has; nil is a value that has all.
func (d *document) fields(name string, of *openapi3.SchemaRef, visit func(string), value *any) {
	if of.Ref != "" {
		name = path.Base(of.Ref)
	}
	var one any
	if value != nil {
		one = *value
	}
	object, _ := one.(map[string]any)
	for key, schema := range of.Value.Properties {
		if field, there := object[key]; value == nil || there && field != nil {
			visit(name + "." + key)
			if value == nil {
				d.fields(name+"."+key, schema, visit, nil)
			} else {
				d.fields(name+"."+key, schema, visit, &field)
			}
		}
	}
	if items := of.Value.Items; items != nil && value == nil {
		d.fields(name, items, visit, nil)
	} else if list, ok := one.([]any); ok && items != nil {
		for i := range list {
			d.fields(name, items, visit, &list[i])
		}
	}
	if more := of.Value.AdditionalProperties.Schema; more != nil && value == nil {
		d.fields(name+".*", more, visit, nil)
	} else if more != nil {
		for _, field := range object {
			d.fields(name+".*", more, visit, &field)
		}
	}
	for _, form := range of.Value.AnyOf {
		kind := (*form.Value.Type)[0]
		if value == nil || kind == map[reflect.Kind]string{reflect.String: "string", reflect.Float64: "number", reflect.Bool: "boolean"}[reflect.ValueOf(one).Kind()] {
			visit(name + " " + kind)
		}
	}
}

// all is everything that the document has.
func (d *document) all() map[string]bool {
	all := map[string]bool{}
	visit := func(name string) { all[name] = true }
	for path, item := range d.Paths.Map() {
		for _, p := range item.Get.Parameters {
			visit(path + " " + p.Value.Name)
			for _, value := range p.Value.Schema.Value.Enum {
				visit(fmt.Sprint(path, " ", p.Value.Name, "=", value))
			}
		}
		for status, answer := range item.Get.Responses.Map() {
			for kind, content := range answer.Value.Content {
				visit(path + " " + status + " " + kind)
				d.fields(path, content.Schema, visit, nil)
			}
			for header := range answer.Value.Headers {
				visit(path + " " + status + " " + header)
			}
		}
	}
	return all
}

// read wants what the generated client has read to be what was sent, to the last digit.
func read(t *testing.T, reply any) {
	t.Helper()
	of := reflect.ValueOf(reply).Elem()
	body := of.FieldByName("Body").Bytes()
	kind := of.FieldByName("HTTPResponse").Interface().(*http.Response).Header.Get("Content-Type")
	typed := 0
	for i := range of.NumField() {
		field := of.Field(i)
		if name := of.Type().Field(i).Name; field.Kind() != reflect.Pointer || field.IsNil() || !strings.Contains(name, "JSON") {
			continue
		}
		typed++
		again, err := json.Marshal(field.Interface())
		if err != nil {
			t.Fatal(err)
		}
		if want, got := plain(t, body), plain(t, again); !reflect.DeepEqual(got, want) {
			t.Errorf("%T has read\n%v\nof\n%v", reply, got, want)
		}
	}
	if strings.HasSuffix(strings.ReplaceAll(kind, "+", "/"), "/json") && typed != 1 {
		t.Errorf("%T has read %d answers from %s", reply, typed, body)
	}
}

// plain is a JSON text whose numbers and times are comparable.
func plain(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var comparable func(any) any
	comparable = func(value any) any {
		switch v := value.(type) {
		case map[string]any:
			for key := range v {
				v[key] = comparable(v[key])
			}
		case []any:
			for i := range v {
				v[i] = comparable(v[i])
			}
		case json.Number:
			exact, _ := new(big.Rat).SetString(v.String())
			return "number " + exact.RatString()
		case string:
			if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
				return at.UTC().Format(time.RFC3339Nano)
			}
		}
		return value
	}
	return comparable(value)
}
