package cli

import (
	"crypto/rand"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/move"
	"github.com/flakeward/flakeward/internal/must"
)

// moves runs flakeward move without a terminal.
func moves(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := newProgram(ownPaths(), realOutside(nil)).run(t.Context(), append([]string{"flakeward", "move"}, args...), strings.NewReader(""), &out, io.Discard)
	return out.String(), err
}

func TestMove(t *testing.T) {
	onRealCoordinators(t, func(t *testing.T, url string) {
		to := url + "2"
		if _, err := moves(t, url, to, "--yes"); err == nil || !strings.Contains(err.Error(), "holds none") {
			t.Errorf("without a cluster: %v", err)
		}
		m := join(t, url, "a")
		m.hold(t, narrowLayout(t).TickAt(time.Now().UnixNano()), 600_000)
		for _, args := range [][]string{{url}, {url, to}, {url, "embedded:", "--yes"}, {url, url + "/below", "--yes"}, {"nonsense", to, "--yes"}} {
			if _, err := moves(t, args...); ExitCode(err) != ExitUsage {
				t.Errorf("%v: %v, want status %d", args, err, ExitUsage)
			}
		}
		// Cut after the seal, and taken back.
		cut := coordtest.NewCut(2, false)
		from, _ := moveSides(t, url, to)
		if out, err := moves(t, url, to, "--abort", "--yes"); err != nil || !strings.Contains(out, "nothing to take back") {
			t.Errorf("%q, %v", out, err)
		}
		half := move.Move{From: from, To: from, ID: rand.Text()}
		_, half.To = moveSides(t, url, to)
		half.From.Mover, half.To.Mover = cut.Side(half.From.Mover), cut.Side(half.To.Mover)
		_, err := half.Run(t.Context())
		must.Fail(t, err, coordtest.ErrFault)
		if out, err := moves(t, url, to, "--abort", "--yes"); err != nil || !strings.Contains(out, "serves the cluster") {
			t.Errorf("%q, %v", out, err)
		}
		for range 2 {
			out, err := moves(t, url, to, "--yes")
			for _, want := range []string{"moved: cluster ", "with 1 worker IDs", "the first daemon runs out of its grant at ", "--coord " + to, "stall: none by --takeover"} {
				if err != nil || !strings.Contains(out, want) {
					t.Errorf("%v; no %q in\n%s", err, want, out)
				}
			}
		}
		if _, err := moves(t, url, to, "--abort", "--yes"); err == nil || !strings.Contains(err.Error(), "cannot be taken back") {
			t.Errorf("taken back after the move: %v", err)
		}
		join(t, to, "b")
	})
}

// A target that is gone does not keep a move from being taken back.
func TestMoveIsTakenBackWithoutItsTarget(t *testing.T) {
	onRealCoordinators(t, func(t *testing.T, url string) {
		join(t, url, "a")
		scheme, _, _ := strings.Cut(url, ":")
		gone := scheme + "://127.0.0.1:1/gone"
		from, to := moveSides(t, url, url+"2")
		cut := coordtest.NewCut(2, false) // after the seal
		half := move.Move{From: move.Side{Mover: cut.Side(from.Mover), URL: url}, To: move.Side{Mover: cut.Side(to.Mover), URL: gone}, ID: rand.Text()}
		_, err := half.Run(t.Context())
		must.Fail(t, err, coordtest.ErrFault)
		out, err := moves(t, url, gone, "--abort", "--yes", "--timeout", "5s")
		if err != nil || !strings.Contains(out, url+": serves the cluster") {
			t.Errorf("%q, %v", out, err)
		}
		join(t, url, "b")
	})
}

func moveSides(t *testing.T, from, to string) (a, b move.Side) {
	t.Helper()
	for i, url := range []string{from, to} {
		o := must.Get(connect.Operate(t.Context(), connect.Config{URL: url}))(t)
		t.Cleanup(func() { _ = o.Close() }) // nothing depends on it
		side := move.Side{Mover: o.(coord.Movable).Mover(), URL: url}
		if i == 0 {
			a = side
		} else {
			b = side
		}
	}
	return a, b
}
