package resp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/internal/form"
)

// hot is the requests that a busy daemon gets.
var hot = []struct{ name, in string }{
	{"NEXT", "*1\r\n$4\r\nNEXT\r\n"},
	{"NEXTx16", strings.Repeat("*1\r\n$4\r\nNEXT\r\n", 16)},
	{"NEXT1000", "*2\r\n$4\r\nNEXT\r\n$4\r\n1000\r\n"},
	{"RUN5000", "*2\r\n$3\r\nRUN\r\n$4\r\n5000\r\n"},
	{"PING", "*1\r\n$4\r\nPING\r\n"},
}

func BenchmarkServe(b *testing.B) {
	for _, c := range hot {
		b.Run(c.name, func(b *testing.B) {
			h := handler(b, &ticks{next: 1 << 60}, "twitter", resp.Limits{})
			in, out := []byte(c.in), make([]byte, 0, 128<<10)
			var s resp.Session
			b.ReportAllocs()
			for b.Loop() {
				used, replies, _ := h.Serve(&s, in, out)
				if used != len(in) || len(replies) == 0 {
					b.Fatal("not answered")
				}
			}
		})
	}
}

func BenchmarkForms(b *testing.B) {
	for _, name := range form.Names() {
		for _, in := range []string{"*1\r\n$4\r\nNEXT\r\n", fmt.Sprintf("*3\r\n$4\r\nNEXT\r\n$2\r\nAS\r\n$%d\r\n%s\r\n", len(name), name)} {
			as := map[bool]string{true: "AS ", false: ""}[strings.Contains(in, "AS")]
			b.Run(as+name+"x16", func(b *testing.B) {
				h := formed(b, &ticks{next: 1 << 60}, nil)
				in, out := []byte(strings.Repeat(in, 16)), make([]byte, 0, 128<<10)
				var s resp.Session
				h.Serve(&s, []byte("FORM "+name+"\r\n"), out)
				b.ReportAllocs()
				for b.Loop() {
					used, replies, _ := h.Serve(&s, in, out)
					if used != len(in) || len(replies) == 0 {
						b.Fatal("not answered")
					}
				}
			})
		}
	}
}

func TestHotPathAllocatesNothing(t *testing.T) {
	for _, each := range []int{0, 4096} { // the latter waits at the end of each tick
		for _, c := range hot {
			h := handler(t, &ticks{next: 1 << 60, each: each}, "twitter", resp.Limits{})
			in, out := []byte(c.in), make([]byte, 0, 128<<10)
			var s resp.Session
			if n := testing.AllocsPerRun(1000, func() {
				in := in
				for {
					used, _, next := h.Serve(&s, in, out)
					if next.State == resp.Read {
						return
					}
					in = in[used:]
				}
			}); n != 0 {
				t.Errorf("%s, %d IDs a tick: %v allocations", c.name, each, n)
			}
		}
	}
}
