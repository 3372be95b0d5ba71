package update

import (
	"testing"

	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// A daemon that was replaced stays, as a supervisor would start it again, until it is told to stop,
// or the newcomer is gone.
func TestAReplacedDaemonLingers(t *testing.T) {
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	h, err := process.NewHost(program, sockettest.Dir(t)+"/h", "--coord", "embedded:", "--takeover", "--takeover-linger", "1h")
	if err != nil {
		t.Fatal(err)
	}
	await := func(d *process.Daemon, what string) {
		t.Helper()
		if err := d.Await(t.Context(), what); err != nil {
			t.Fatal(err)
		}
	}
	stays := func(d *process.Daemon) {
		t.Helper()
		select {
		case <-d.Ended():
			t.Fatal("it has ended")
		default:
		}
	}
	first := start(t, h)
	second := start(t, h)
	await(first, "another daemon serves; waiting for the end")
	third := start(t, h)
	await(second, "another daemon serves; waiting for the end")
	stays(first)
	if err := first.Stop(t.Context()); err != nil {
		t.Errorf("told to stop, it ends with %v", err)
	}
	stays(second)
	if err := third.Kill(); err != nil {
		t.Fatal(err)
	}
	await(second, "nobody serves the socket any more; ending, to be started again")
	<-second.Ended()
	start(t, h)
}
