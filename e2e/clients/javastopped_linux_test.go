package clients

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/internal/must"
)

// A process that was stopped and goes on hands out nothing of what it has in stock, if it was
// stopped for longer than the maximum age. With one of an hour it does: there is stock.
func TestJavaStoppedProcess(t *testing.T) {
	h := host(t)
	start(t, h)
	other := must.Get(client.Open(h.Socket, client.MaxAge(0)))(t)
	defer other.Close()
	classes := javaConsoles(t)
	const short = 50 * time.Millisecond
	for maxAge, want := range map[time.Duration]bool{short: false, time.Hour: true} {
		c := openJava(t, classes, h.Socket, "maxAge="+strconv.FormatInt(maxAge.Milliseconds(), 10))
		c.ask("last 20000")
		stale := false
		for range 5 {
			c.ask("last 100")
			must.Do(t, c.process.Signal(syscall.SIGSTOP))
			var status syscall.WaitStatus
			if _, err := syscall.Wait4(c.process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
				t.Fatal(status, err)
			}
			<-time.After(2 * short)
			mark := must.Get(other.Next(t.Context()))(t)
			must.Do(t, c.process.Signal(syscall.SIGCONT))
			stale = c.id("last 1") < mark || stale
		}
		if stale != want {
			t.Errorf("maxAge %v: IDs from before the stop were handed out: %v", maxAge, stale)
		}
	}
}
