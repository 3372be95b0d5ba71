package rest

import (
	"iter"
	"strconv"
	"strings"
)

// accepts reports whether the client asked for a type by its name before JSON.
func (q *request) accepts(name string) bool {
	for kind := range q.kinds() {
		switch kind {
		case name:
			return true
		case "application/json", "*/*", "application/*":
			return false
		}
	}
	return false
}

// wants reports whether the client asked for a type by its name.
func (q *request) wants(name string) bool {
	for kind := range q.kinds() {
		if kind == name {
			return true
		}
	}
	return false
}

// kinds are the types that the client accepts, in its order.
func (q *request) kinds() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, accept := range q.r.Header["Accept"] {
			for one := range strings.SplitSeq(accept, ",") {
				kind, params, _ := strings.Cut(one, ";")
				if !refused(params) && !yield(strings.ToLower(strings.TrimSpace(kind))) {
					return
				}
			}
		}
	}
}

// refused reports whether the parameters of a type have q=0: the client does not accept it.
func refused(params string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && weight == 0
		}
	}
	return false
}
