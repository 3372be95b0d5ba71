package serve

import (
	"bytes"
	"strings"
	"testing"
)

func TestADialectIsToldByTheFirstLine(t *testing.T) {
	long := strings.Repeat("x", longestFirst)
	for first, want := range map[string]dialect{
		"*1\r\n$4\r\nNEXT\r\n":             speaksRESP,
		"*":                                speaksRESP,
		"NEXT\r\n":                         speaksRESP,
		"NEXT":                             untold,
		"G":                                untold,
		"GET x\r\n":                        speaksRESP,
		"GET /\r\n":                        speaksRESP,
		"GET / HTTP/1.1":                   untold,
		"GET / HTTP/1.1\r":                 untold,
		"GET / HTTP/1.1\r\n":               speaksHTTP,
		"GET / HTTP/1.0\n":                 speaksHTTP,
		"GET / HTTP/1.1 \r\n":              speaksRESP,
		"GET / HTTP/1.x\r\n":               speaksRESP,
		"GET / HTTP/1.\r\n":                speaksRESP,
		"GET / HTTP/11\r\n":                speaksRESP,
		"HTTP/1.1\r\n":                     speaksRESP,
		" HTTP/1.1\r\n":                    speaksHTTP, // with which HTTP finds fault
		"\r\nGET / HTTP/1.1\r\n":           speaksRESP,
		"\n":                               speaksRESP,
		"NEXT\r\nGET / HTTP/1.1\r\n":       speaksRESP,
		"ECHO \"GET / HTTP/1.1\"\r\n":      speaksRESP,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": speaksHTTP,
		"PRI * HTTP/2.0":                   untold,
		"GET / HTTP/2.0\r\n":               speaksRESP,
		long:                               speaksRESP,
		long + " HTTP/1.1\r\n":             speaksRESP,
		"GET /" + long:                     speaksHTTP,
		"get /" + long:                     speaksRESP,
		"VERYLONGMETHODNAME /" + long:      speaksRESP,
		"GET /" + long[20:] + " HTTP/1.1\r\nHost: f": speaksHTTP,
	} {
		if got := dialectOf([]byte(first)); got != want {
			t.Errorf("%.40q: %d, want %d", first, got, want)
		}
	}
}

// In however many parts a first line arrives, it is told the same, and only a whole line that ends
// in the version is HTTP, or one that is too long.
func FuzzDialect(f *testing.F) {
	for _, seed := range []string{"GET / HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "NEXT 5\r\n", "*1\r\n$4\r\nNEXT\r\n", "GET / HTTP/1.", "\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, first []byte) {
		if len(first) == 0 {
			return
		}
		whole := dialectOf(first)
		line, _, ended := bytes.Cut(first, []byte{'\n'})
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if ended && len(line) < longestFirst-2 {
			ends := len(line) >= 9 && string(line[len(line)-9:len(line)-1]) == " HTTP/1." && line[len(line)-1] >= '0' && line[len(line)-1] <= '9'
			if http := first[0] != '*' && (ends || string(line) == "PRI * HTTP/2.0"); http != (whole == speaksHTTP) || whole == untold {
				t.Fatalf("%q is %d", first, whole)
			}
		}
		for n := 1; n < len(first); n++ {
			if part := dialectOf(first[:n]); part != untold {
				if part != whole {
					t.Fatalf("%q is %d, and its first %d bytes are %d", first, whole, n, part)
				}
				break
			}
		}
	})
}
