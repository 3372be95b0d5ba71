package client_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/internal/must"
)

const (
	pausedSocket = "FLAKEWARD_TEST_PAUSED"
	pausedMaxAge = "FLAKEWARD_TEST_PAUSED_MAXAGE"
)

// A process that was stopped and goes on hands out nothing of what it has in stock, if it was
// stopped for longer than MaxAge. With a MaxAge of an hour it does: there is stock.
func TestStoppedProcess(t *testing.T) {
	if socket := os.Getenv(pausedSocket); socket != "" {
		beStopped(t, socket)
		return
	}
	socket := start(t, dir(t), roomy).Config.Socket.Path
	other := open(t, socket, client.MaxAge(0))
	for maxAge, stale := range map[time.Duration]bool{50 * time.Millisecond: false, time.Hour: true} {
		ask, self := startStopped(t, socket, maxAge)
		ask(5000)
		for range 3 {
			ask(1)
			must.Do(t, self.Signal(syscall.SIGSTOP))
			var status syscall.WaitStatus
			if _, err := syscall.Wait4(self.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
				t.Fatal(status, err)
			}
			<-time.After(2 * 50 * time.Millisecond)
			mark := nextID(t, other)
			must.Do(t, self.Signal(syscall.SIGCONT))
			if id := ask(1); id < mark != stale {
				t.Errorf("MaxAge %v: %d, when %d had been drawn before it went on", maxAge, id, mark)
			}
		}
	}
}

// beStopped is the process: for each number that it is told it takes as many IDs, or some more
// until it has others in stock, and tells the last. So there is stock when it is stopped.
func beStopped(t *testing.T, socket string) {
	maxAge := must.Get(time.ParseDuration(os.Getenv(pausedMaxAge)))(t)
	c := open(t, socket, client.MaxAge(maxAge))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		n := must.Get(strconv.Atoi(lines.Text()))(t)
		var id int64
		for ; n > 0 || client.Stock(c) == 0; n-- {
			id = nextID(t, c)
		}
		fmt.Println("ID", id)
	}
}

// startStopped starts the process. ask tells it a number, and returns the ID.
func startStopped(t *testing.T, socket string, maxAge time.Duration) (ask func(int) int64, self *os.Process) {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run=^TestStoppedProcess$")
	command.Env = append(os.Environ(), pausedSocket+"="+socket, pausedMaxAge+"="+maxAge.String())
	command.Stderr = os.Stderr
	in := must.Get(command.StdinPipe())(t)
	out := must.Get(command.StdoutPipe())(t)
	must.Do(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	lines := bufio.NewScanner(out)
	return func(n int) int64 {
		t.Helper()
		must.Get(io.WriteString(in, strconv.Itoa(n)+"\n"))(t)
		for lines.Scan() {
			if digits, ok := strings.CutPrefix(lines.Text(), "ID "); ok {
				return must.Get(strconv.ParseInt(digits, 10, 64))(t)
			}
		}
		t.Fatal("the process has ended")
		return 0
	}, command.Process
}
