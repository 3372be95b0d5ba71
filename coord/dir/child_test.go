package dir_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/dir"
	"github.com/flakeward/flakeward/internal/must"
)

// The environment of a child: what it does, and in which directory.
const (
	childEnv = "FLAKEWARD_DIR_CHILD"
	pathEnv  = "FLAKEWARD_DIR_PATH"
)

func TestMain(m *testing.M) {
	if do := os.Getenv(childEnv); do != "" {
		if err := child(context.Background(), do, os.Getenv(pathEnv)); err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const layout = "time=41@1ms,worker=10,sequence=12;epoch=2026-01-01T00:00:00Z;datacenter=1"

// join opens a directory for a daemon of a host.
func join(ctx context.Context, path, host string, workers int) (*dir.Coordinator, error) {
	c, err := dir.New(dir.Config{Path: path, Identity: coord.Identity{Host: host, PID: os.Getpid(), Incarnation: rand.Text()}})
	if err != nil {
		return nil, err
	}
	_, err = coordtest.CreateAndJoin(ctx, c, coord.Layout{Text: layout, Workers: workers})
	return c, err
}

// child is a daemon in a process of its own, which claims and extends once. It says on its standard
// output what it has done, and reads its standard input before it goes on. One that is to stop does
// so in the lock, when it extends.
func child(ctx context.Context, do, path string) error {
	c, err := join(ctx, path, "child", 2)
	if err != nil {
		return err
	}
	claim, err := c.Claim(ctx, fresh())
	if err != nil {
		return err
	}
	fmt.Println("claimed", claim.Worker())
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	if do == "stop" {
		dir.Sync(c, func(f *os.File, sync func(*os.File) error) error {
			return errors.Join(unix.Kill(os.Getpid(), unix.SIGSTOP), sync(f))
		})
	}
	if err := claim.Extend(ctx, coord.Progress{Ceiling: claim.Floor() + 100}); err != nil {
		return err
	}
	fmt.Println("extended")
	_, err = in.ReadString('\n')
	return err
}

// process is a child as its parent sees it.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, do, path string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(must.Get(os.Executable())(t))}
	p.cmd.Env = append(os.Environ(), childEnv+"="+do, pathEnv+"="+path)
	p.cmd.Stderr = os.Stderr
	p.in, p.out = must.Get(p.cmd.StdinPipe())(t), bufio.NewReader(must.Get(p.cmd.StdoutPipe())(t))
	must.Do(t, p.cmd.Start())
	t.Cleanup(p.kill)
	return p
}

// says is what the child says next, without its first word, which is wanted.
func (p *process) says(t *testing.T, word string) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	got, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || got != word {
		t.Fatalf("the child says %q, %v; want %q", line, err, word)
	}
	return rest
}

// resume has it do the next step.
func (p *process) resume(t *testing.T) {
	t.Helper()
	must.Get(p.in.Write([]byte("\n")))(t)
}

func (p *process) signal(t *testing.T, s unix.Signal) {
	t.Helper()
	must.Do(t, unix.Kill(p.cmd.Process.Pid, s))
}

// kill ends the child and returns when it has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
}

// stopped waits until the child is stopped.
func (p *process) stopped(t *testing.T) {
	t.Helper()
	var status unix.WaitStatus
	must.Get(unix.Wait4(p.cmd.Process.Pid, &status, unix.WUNTRACED, nil))(t)
	if !status.Stopped() {
		t.Fatalf("the child is not stopped: %v", status)
	}
}
