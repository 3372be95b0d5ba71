package serve

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// A pod that goes while Serve begins is gone when Shut returns.
func TestAPodMayGoWhileServeBegins(t *testing.T) {
	for i := range 400 {
		s := New(Config{Source: newStore(-1), Layout: twitter(t)})
		dir := t.TempDir()
		l := must.Get(net.Listen("unix", filepath.Join(dir, "p")))(t)
		pod := &peercred.Pod{Directory: "a", User: "n/a", Number: 1}
		s.Open(l, pod)
		m := must.Get(net.Listen("unix", filepath.Join(dir, "m")))(t)
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error, 1)
		shut := make(chan struct{})
		go func() { s.Shut(pod); close(shut) }()
		go func() { served <- s.Serve(ctx, m) }()
		select {
		case <-shut:
		case <-time.After(time.Minute):
			cancel()
			<-served
			select {
			case <-shut:
				t.Fatalf("round %d: Shut returned only with the server's end", i)
			case <-time.After(time.Minute):
				t.Fatalf("round %d: Shut never returns, not even after Serve has ended", i)
			}
		}
		cancel()
		<-served
	}
}

func twitter(t *testing.T) *generator.Layout {
	return must.Get(generator.ParseLayout("twitter"))(t)
}
