package rest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/await"
	"github.com/flakeward/flakeward/generator"
)

// BenchmarkIDs is a request for an ID over one connection, next to a constant from the same library.
func BenchmarkIDs(b *testing.B) {
	layout, err := generator.ParseLayout("twitter")
	if err != nil {
		b.Fatal(err)
	}
	s := New(Config{Take: await.New(&store{left: 1 << 60, next: 1 << 56, most: 1 << 60}, clockguard.System{}, &counts{}), Layout: layout, MaxCount: 10, Count: &counts{}})
	b.Run("ids", func(b *testing.B) { run(b, s.HTTP()) })
	body := []byte(`{"ids":["117949486318465024"]}` + "\n")
	b.Run("constant", func(b *testing.B) {
		run(b, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = typeJSON
			_, _ = w.Write(body)
		})})
	})
}

func run(b *testing.B, h *http.Server) {
	path := filepath.Join(b.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = h.Serve(l) }()
	defer h.Close() //nolint:errcheck // it has nothing to lose
	c, err := net.Dial("unix", path)
	if err != nil {
		b.Fatal(err)
	}
	in := bufio.NewReader(c)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.WriteString(c, "GET /v1/ids HTTP/1.1\r\nHost: f\r\n\r\n"); err != nil {
			b.Fatal(err)
		}
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
	}
}
