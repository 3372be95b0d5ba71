package systemd

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/must"
)

// roleName is the variable by which the test's own program is a daemon that starts another, or the
// one that is started.
const roleName = "SYSTEMD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleName) {
	case "":
		os.Exit(m.Run())
	case "daemon":
		os.Exit(beDaemon())
	case "newcomer":
		fmt.Println("newcomer", os.Getppid(), os.Getenv("NOTIFY_SOCKET"), os.Getenv("FDSTORE"), os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID"), os.Args[1:])
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	}
}

// beDaemon starts a newcomer, and tells of its end.
func beDaemon() int {
	s, err := FromEnvironment()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if err := os.Setenv(roleName, "newcomer"); err != nil {
		fmt.Println(err)
		return 1
	}
	started, err := s.Start(os.Args[0], "-test.run=none", "more")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	<-started.Ended
	fmt.Println("ended")
	return 0
}

// Who is started is systemd's child, knows what systemd asks of the daemon, and its end is noticed.
func TestStart(t *testing.T) {
	m := newManager(t)
	daemon := exec.Command(os.Args[0])
	daemon.Env = append(os.Environ(), roleName+"=daemon", "FDSTORE=2", "WATCHDOG_USEC=3000000")
	in := must.Get(daemon.StdinPipe())(t)
	out := must.Get(daemon.StdoutPipe())(t)
	must.Do(t, daemon.Start())
	lines := bufio.NewReader(out)
	said, err := lines.ReadString('\n')
	want := fmt.Sprintf("newcomer %d %s 2 3000000  [-test.run=none more]", os.Getpid(), m.conn.LocalAddr())
	if err != nil || strings.TrimSpace(said) != want {
		t.Errorf("the newcomer says %q (%v), want %q", said, err, want)
	}
	must.Get(fmt.Fprintln(in))(t)
	if said, err = lines.ReadString('\n'); err != nil || said != "ended\n" {
		t.Errorf("the daemon says %q (%v) after the newcomer's end", said, err)
	}
	must.Do(t, daemon.Wait())
	if _, err := unix.Wait4(-1, nil, 0, nil); err != nil {
		t.Errorf("the newcomer is no child of systemd's: %v", err)
	}
}

// What cannot be started is an error, and without systemd a program is this one's own child. It
// ends when it is told to.
func TestStartWithoutSystemd(t *testing.T) {
	var none *Service
	if _, err := none.Start("/none"); err == nil || !strings.Contains(err.Error(), "/none") {
		t.Errorf("it was started: %v", err)
	}
	started := must.Get(none.Start(must.Get(exec.LookPath("sleep"))(t), "infinity"))(t)
	started.Stop()
	<-started.Ended
	if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD { // it is that one
		t.Errorf("child %d was not waited for: %v", pid, err)
	}
}
