package zkserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
)

func start(t *testing.T) *Ensemble {
	t.Helper()
	need.That(t, Installed())
	e := must.Get(New(t.TempDir(), Options{}))(t)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

const childVariable = "ZKSERVER_TEST_CHILD"

// A test program that is killed cannot end its servers.
func TestServerEndsWithItsParent(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		e := start(t)
		must.Do(t, e.Start(t.Context()))
		fmt.Println("address", e.Addresses()[0])
		_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
		return
	}
	need.That(t, Installed())
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=2m")
	child.Env = append(os.Environ(), childVariable+"=1", "TMPDIR="+t.TempDir())
	stdin := must.Get(child.StdinPipe())(t)
	defer stdin.Close()
	stdout := must.Get(child.StdoutPipe())(t)
	must.Do(t, child.Start())
	var said strings.Builder
	address := ""
	for in := bufio.NewScanner(io.TeeReader(stdout, &said)); address == "" && in.Scan(); {
		address, _ = strings.CutPrefix(in.Text(), "address ")
		if address == in.Text() {
			address = ""
		}
	}
	conn, err := net.Dial("tcp", address)
	if kill := child.Process.Kill(); kill != nil {
		t.Error(kill)
	}
	_ = child.Wait() // killed
	if err != nil {
		t.Fatalf("no server: %v; the child said:\n%s", err, said.String())
	}
	defer conn.Close()
	// The server would keep this connection for ever.
	if _, err := io.Copy(io.Discard, conn); err != nil {
		t.Logf("the connection: %v", err)
	}
	// A process that ends closes one socket after the other: the listening one may come later.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		_ = conn.Close()
		if pause(ctx) != nil {
			t.Fatal("the server takes connections without its parent")
		}
	}
}

// onThread calls f on a thread that ends then, and waits for its end.
func onThread(t *testing.T, f func()) {
	t.Helper()
	done := make(chan int)
	var run func()
	run = func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if syscall.Gettid() == os.Getpid() {
			go run() // Go keeps the first thread: take another while this one is taken
			return
		}
		f()
		done <- syscall.Gettid()
	}
	go run()
	task := fmt.Sprintf("/proc/self/task/%d", <-done)
	for {
		if _, err := os.Stat(task); err != nil {
			return
		}
		must.Do(t, pause(t.Context()))
	}
}

// The kernel's signal is for the end of the thread that started the child.
func TestServerOutlivesTheThreadOfItsStart(t *testing.T) {
	e := start(t)
	var err error
	onThread(t, func() { err = e.Start(t.Context()) })
	must.Do(t, err)
	for range 100 {
		must.Get(e.Word(t.Context(), 0, "ruok"))(t)
	}
}
