package rest

import (
	"strconv"
	"strings"
)

// accepts reports whether the client asked for a type by its name before JSON.
func (q *request) accepts(name string) bool {
	for _, accept := range q.r.Header["Accept"] {
		for one := range strings.SplitSeq(accept, ",") {
			kind, params, _ := strings.Cut(one, ";")
			if refused(params) {
				continue
			}
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case name:
				return true
			case "application/json", "*/*", "application/*":
				return false
			}
		}
	}
	return false
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
