package journal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// The test binary plays a process of its own if this variable names its part.
const partVariable = "JOURNAL_TEST_PART"

func TestMain(m *testing.M) {
	switch part, dir, _ := strings.Cut(os.Getenv(partVariable), ":"); part {
	case "hold":
		os.Exit(hold(dir))
	case "limited":
		os.Exit(limited(dir))
	case "without":
		os.Exit(without(dir))
	}
	os.Exit(m.Run())
}

func part(name, dir string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), partVariable+"="+name+":"+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// hold writes mark 1, says so and holds the directory until its input ends or it
// is killed.
func hold(dir string) int {
	d, err := OpenDir(dir, here)
	if err == nil {
		err = d.Write(contents(1))
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	return 0
}

func TestTheLockIsFreedByItsHoldersDeath(t *testing.T) {
	dir := t.TempDir()
	cmd := part("hold", dir)
	must.Get(cmd.StdinPipe())(t) // stays open, so that it waits
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the holder says %q, %v", line, err)
	}

	var inUse *InUseError
	if _, err := OpenDir(dir, here); !errors.As(err, &inUse) || inUse.PID != cmd.Process.Pid ||
		!strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), fmt.Sprint("process ", cmd.Process.Pid)) {
		t.Fatalf("OpenDir: %v, want it to be in use by %d", err, cmd.Process.Pid)
	}
	must.Do(t, cmd.Process.Kill())
	cmd.Wait()
	wantRead(t, open(t, dir), contents(1))
}

// limited writes a journal into a file that the kernel cuts off.
func limited(dir string) int {
	signal.Ignore(syscall.SIGXFSZ) // so that the write fails instead of the process
	d, err := OpenDir(dir, here)
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100, Max: 100})
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if err := d.Write(contents(2)); !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "raise it") {
		fmt.Printf("Write: %v, want EFBIG and what to do\n", err)
		return 1
	}
	return 0
}

// TestADiskThatTakesNoMore has the kernel refuse the rest of a write that has
// begun, in a process of its own because the limit is one of processes.
func TestADiskThatTakesNoMore(t *testing.T) {
	d := open(t, t.TempDir())
	write(t, d, contents(1))
	must.Do(t, d.Close())
	if out, err := part("limited", d.Path()).Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d = open(t, d.Path())
	wantRead(t, d, contents(1))
	if entries, err := os.ReadDir(d.Path()); err != nil || len(entries) != 2 {
		t.Errorf("the directory holds %v, %v, want the lock and the journal alone", entries, err)
	}
}

// without writes a journal while no descriptor is to be had.
func without(dir string) int {
	d, err := OpenDir(dir, here)
	if err == nil {
		err = d.Write(contents(2))
	}
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{})
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if f, err := os.Open(dir); err == nil {
		fmt.Printf("%s is opened without descriptors\n", f.Name())
		return 1
	}
	for mark := range generator.Tick(10) {
		if err := d.Write(contents(3 + mark)); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	return 0
}

// TestAFullDescriptorTableStopsNoJournal: a journal that is open needs no further descriptor, in a
// process of its own because the limit is one of processes.
func TestAFullDescriptorTableStopsNoJournal(t *testing.T) {
	dir := t.TempDir()
	if out, err := part("without", dir).Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wantRead(t, open(t, dir), contents(12))
}
