package rest

import (
	"net/http"
	"testing"
)

// q=0 takes a type out of those that the client accepts.
func TestATypeThatIsNotAcceptedIsNotSent(t *testing.T) {
	for accept, want := range map[string]string{
		"text/plain;q=0":                                "application/json",
		"text/plain; Q=0.000 , application/json":        "application/json",
		"application/xml ;q=0,text/plain":               "text/plain",
		"application/json;q=0, */* ; q=0.0, text/plain": "text/plain",
		"text/plain;format=flowed;q=0":                  "application/json",
		"text/plain;q=0.001":                            "text/plain",
		"TEXT/Plain":                                    "text/plain",
		"text/plain;q=x":                                "text/plain",
		"text/plain;q":                                  "text/plain",
	} {
		q := &request{r: &http.Request{Header: http.Header{"Accept": {accept}}}}
		got := "application/json"
		if q.accepts("text/plain") {
			got = "text/plain"
		}
		if got != want {
			t.Errorf("%q gets %s, not %s", accept, got, want)
		}
	}
	for accept, want := range map[string]bool{"application/json;q=0": false, "text/plain, application/json;q=0.1": true, "text/plain": false} {
		if q := (&request{r: &http.Request{Header: http.Header{"Accept": {accept}}}}); q.accepts("application/json") != want {
			t.Errorf("%q wants JSON: %t", accept, !want)
		}
	}
}
