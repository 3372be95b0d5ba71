package update

import (
	"strconv"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
	"github.com/flakeward/flakeward/internal/wire"
)

// SIGUSR2 has the program started anew, as it is now on disk, and that takes over under clients that
// never try again.
func TestASignalStartsTheProgramAnew(t *testing.T) {
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	h, err := process.NewHost(program, sockettest.Dir(t)+"/h")
	if err != nil {
		t.Fatal(err)
	}
	before := start(t, h)
	clients := ask(t, h.Socket, 4, false)
	if err := syscall.Kill(before.PID(), syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	if err := before.Await(t.Context(), "took over"); err != nil { // the two have one standard error
		t.Fatal(err)
	}
	text, err := load.Ask(t.Context(), h.Socket, (*wire.Reader).Bulk, "INFO")
	after, _ := strconv.Atoi(info.Parse(text).Map()["process_id"])
	if err != nil || after == 0 || after == before.PID() {
		t.Fatalf("process %d serves, and the first was %d (%v)", after, before.PID(), err)
	}
	distinct(t, clients.end())
	if err := syscall.Kill(after, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	<-before.Ended() // with it the other one's standard error
}
