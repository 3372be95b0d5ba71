package clients

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// compileJava compiles the client with other sources, which may need a class path, and returns
// where the classes are.
func compileJava(t *testing.T, classPath string, sources ...string) string {
	t.Helper()
	classes := t.TempDir()
	args := append([]string{"--release", "17", "-Xlint:all", "-Xlint:-path", "-Werror", "-cp", classPath, "-d", classes, file(t, "..", "..", "clients", "java", "Flakeward.java")}, sources...)
	if said, err := exec.CommandContext(t.Context(), interpreter(t, "javac"), args...).CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, said)
	}
	return classes
}

// console is a program in Java with one client. It does what it is told line by line.
type console struct {
	t       *testing.T
	process *os.Process
	in      io.Writer
	out     *bufio.Reader
}

// javaConsoles are the classes of the console.
func javaConsoles(t *testing.T) (classes string) {
	t.Helper()
	return compileJava(t, "", file(t, "testdata", "Console.java"))
}

// openJava starts a console, which ends with the test.
func openJava(t *testing.T, classes, socket string, options ...string) *console {
	t.Helper()
	args := append([]string{"-XX:TieredStopAtLevel=1", "-cp", classes, "Console", socket}, options...)
	c := exec.Command(interpreter(t, "java"), args...)
	c.Stderr = os.Stderr
	c.SysProcAttr = process.Orphanless()
	in, out := must.Get(c.StdinPipe())(t), must.Get(c.StdoutPipe())(t)
	must.Do(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill() // it reads on
		_ = c.Wait()
	})
	return &console{t, c.Process, in, bufio.NewReader(out)}
}

// say tells the console a line.
func (c *console) say(line string) {
	c.t.Helper()
	must.Get(io.WriteString(c.in, line+"\n"))(c.t)
}

// answer is the console's next line.
func (c *console) answer() string {
	c.t.Helper()
	return strings.TrimSpace(must.Get(c.out.ReadString('\n'))(c.t))
}

func (c *console) ask(line string) string {
	c.t.Helper()
	c.say(line)
	return c.answer()
}

// known is the first answer to a line that is no timeout: where that is short, a busy machine may
// not have got to the daemon yet.
func (c *console) known(line string) string {
	c.t.Helper()
	for {
		if got := c.ask(line); !strings.HasPrefix(got, "TIMEOUT: ") {
			return got
		}
	}
}

// wants fails the test if the answer to a line is another one.
func (c *console) wants(line, want string) {
	c.t.Helper()
	if got := c.ask(line); got != want {
		c.t.Errorf("%s: %q, want %q", line, got, want)
	}
}

// id is the answer to a line, which is one ID.
func (c *console) id(line string) int64 {
	c.t.Helper()
	return must.Get(strconv.ParseInt(c.ask(line), 10, 64))(c.t)
}

// TestJava holds the client to what its comment says, on daemons that answer as the test says.
func TestJava(t *testing.T) {
	classes := javaConsoles(t)
	for name, test := range map[string]func(t *testing.T, classes string){
		"runs": javaRuns, "lost replies": javaLostReplies, "refusals": javaRefusals, "another server": javaAnotherServer,
		"cluster": javaCluster, "waits": javaWaits, "hanging daemon": javaHangingDaemon, "full daemon": javaFullDaemon, "age": javaAge, "age of several": javaAgeOfSeveral,
	} {
		t.Run(name, func(t *testing.T) { test(t, classes) })
	}
}

// A call without demand asks for what it needs. Runs are counted on by their step, and more IDs
// than the daemon gives at a time are asked for in several requests.
func javaRuns(t *testing.T, classes string) {
	f := startFake(t)
	c := openJava(t, classes, f.socket, "maxAge=0", "tenant=3")
	c.wants("each 3", "1 2 3")
	if got := f.asked(); !slices.Equal(got, []int64{1, 1, 1}) {
		t.Errorf("3 IDs were asked for as %d", got)
	}
	f.set(func() {
		if got := strings.Join(f.words, " "); got != "RUN 1 TENANT 3" {
			t.Error(got)
		}
	})
	c.wants("string", "4")
	f.once("*5\r\n:64\r\n:100\r\n:2\r\n:1000\r\n:3\r\n", true)
	c.wants("ids 5", "100 164 1000 1064 1128")
	f.asked()
	var want []string
	for id := range 250 {
		want = append(want, strconv.Itoa(5+id))
	}
	c.wants("ids 250", strings.Join(want, " "))
	if got := f.asked(); !slices.Equal(got, []int64{100, 100, 50}) {
		t.Errorf("250 IDs were asked for as %d", got)
	}
}

// IDs of a reply that broke off are lost, and the call gets others over a new connection.
func javaLostReplies(t *testing.T, classes string) {
	f := startFake(t)
	c := openJava(t, classes, f.socket, "maxAge=0", "timeout=86400000")
	next := 1
	for _, lost := range []string{"", "*", "*3\r\n:1\r\n:1000\r\n", "*3\r\n:1\r\n:1000\r\n:1", "*3\r\n:1\r\n:1000\r\n:1\r", "*5\r\n:1\r\n:1000\r\n:1\r\n:2000\r\n"} {
		f.once(lost, false)
		c.wants("ids 2", fmt.Sprint(next, " ", next+1))
		next += 2
	}
}

// An error has the daemon's code and text, and the connection goes on. One that says how many IDs
// can be had is no error: so many are asked for.
func javaRefusals(t *testing.T, classes string) {
	f := startFake(t)
	c := openJava(t, classes, f.socket, "maxAge=0", "timeout=86400000")
	for said, want := range map[string]string{
		"UNAVAILABLE no grant: código; try again later": "UNAVAILABLE: no grant: código; try again later",
		"ERR no tenant 3": "ERR: no tenant 3",
		"NOPE":            "NOPE:",
	} {
		f.once("-"+said+"\r\n", true)
		c.wants("ids 1", want)
		c.wants("ids 1", f.following())
	}
	f.asked()
	f.once("-UNAVAILABLE 5 IDs cannot be had within 2s: at most 3 can now, code=user-rate\r\n", true)
	c.ask("ids 5")
	c.ask("ids 5")
	if got := f.asked(); !slices.Equal(got, []int64{5, 3, 2, 5}) {
		t.Errorf("asked for %d", got)
	}
	f.once("-UNAVAILABLE 5 IDs cannot be had within 2s: at most 4 can, code=count-too-large\r\n", true)
	c.ask("ids 5")
	c.ask("ids 5")
	if got := f.asked(); !slices.Equal(got, []int64{5, 4, 1, 4, 1}) {
		t.Errorf("asked for %d", got)
	}
	f.greetOnce("-ERR not allowed\r\n")
	f.once("", false)
	c.wants("ids 1", "ERR: not allowed")
	c.wants("ids 1", f.following())
}

// Nothing is used of a reply that is none.
func javaAnotherServer(t *testing.T, classes string) {
	f := startFake(t)
	c := openJava(t, classes, f.socket, "maxAge=0", "timeout=86400000")
	for _, reply := range []string{
		"+OK\r\n", ":7\r\n", "*1\r\n:1\r\n", "*2\r\n:1\r\n:7\r\n", "*-1\r\n", "*3\r\n:0\r\n:7\r\n:1\r\n", "*3\r\n:1\r\n:-7\r\n:1\r\n", "*3\r\n:1\r\n:7\r\n:0\r\n",
		"*3\r\n:1\r\n:7\r\n:2\r\n", "*5\r\n:1\r\n:7\r\n:1\r\n:9\r\n:1\r\n", "*3\r\n:1\r\n:9223372036854775808\r\n:1\r\n", "*3\r\n:1\r\n:+7\r\n:1\r\n", "*3\r\n:1\r\n:7\n:1\r\n",
		"*3\r\n:1\r\n:\r\n:1\r\n", "*3\r\n$1\r\n1\r\n:7\r\n:1\r\n", "HTTP/1.1 400 Bad Request\r\n", "-" + strings.Repeat("x", 5000) + "\r\n",
	} {
		f.once(reply, true)
		if got := c.ask("ids 1"); !strings.HasPrefix(got, "PROTOCOL: the listener at the socket "+f.socket) {
			t.Errorf("%.40q: %q", reply, got)
		}
	}
	f.once("*3\r\n:1\r\n:9223372036854775807\r\n:2\r\n", true)
	if got := c.ask("ids 2"); !strings.HasPrefix(got, "PROTOCOL: ") {
		t.Errorf("an ID above 2^63-1: %q", got)
	}
	for _, greeting := range []string{"+PONG\r\n", "$-1\r\n", "$9\r\nredis:7\r\n\r\n", "$3\r\nabcd\r\n", "$99999999\r\n"} {
		f.greetOnce(greeting)
		f.once("", false)
		if got := c.ask("ids 1"); !strings.HasPrefix(got, "PROTOCOL: ") {
			t.Errorf("%q: %q", greeting, got)
		}
	}
	c.wants("ids 1", f.following())
}

// No ID is asked of a daemon in another cluster than the demanded one.
func javaCluster(t *testing.T, classes string) {
	const ours, other = "0b7d1c58-6c1c-4b5e-9d1e-6f4f2a7c9b10", "1b7d1c58-6c1c-4b5e-9d1e-6f4f2a7c9b10"
	f := startFake(t)
	f.cluster = other
	c := openJava(t, classes, f.socket, "cluster="+strings.ToUpper(ours), "timeout=86400000")
	if got := c.ask("ids 1"); !strings.HasPrefix(got, "CLUSTER: ") || !strings.Contains(got, ours) || !strings.Contains(got, other) {
		t.Error(got)
	}
	c = openJava(t, classes, f.socket, "cluster="+ours, "timeout=100")
	f.set(func() { f.cluster = "" })
	if got := c.known("ids 1"); !strings.HasPrefix(got, "CLUSTER: ") || !strings.Contains(got, "has not joined") {
		t.Error(got)
	}
	if got := f.asked(); len(got) > 0 {
		t.Errorf("asked for %d", got)
	}
	f.set(func() { f.cluster = ours })
	openJava(t, classes, f.socket, "cluster="+ours, "timeout=86400000").wants("ids 1", "1")
}

// A call ends in time, whatever the daemon does, and after close.
func javaWaits(t *testing.T, classes string) {
	f := startFake(t)
	c := openJava(t, classes, f.socket, "maxAge=0", "timeout=100")
	release := make(chan struct{})
	f.set(func() {
		f.reply = func(int64) (string, bool) {
			<-release
			return "", true
		}
	})
	if got := c.ask("ids 1"); !strings.HasPrefix(got, "TIMEOUT: the daemon at the socket "+f.socket) {
		t.Error(got)
	}
	c.wants("interrupted", "INTERRUPTED: the thread was interrupted while it waited for an ID; interrupted=true")
	close(release)
	c.known("ids 1")
	for _, n := range f.asked() {
		if n != 1 {
			t.Errorf("%d IDs were asked for: those of calls that had given up, too", n)
		}
	}
	c.wants("threads", "1")
	c.wants("close", "closed")
	c.wants("threads", "0")
	c.wants("ids 1", "CLOSED: the client of the socket "+f.socket+" is closed")
	c.wants("each 1", "CLOSED: the client of the socket "+f.socket+" is closed")

	missing := filepath.Join(sockettest.Dir(t), "s")
	if got := openJava(t, classes, missing, "timeout=100").known("ids 1"); !strings.HasPrefix(got, "UNREACHABLE: no daemon is reached at the socket "+missing+": there is no such socket") {
		t.Error(got)
	}
	must.Do(t, os.WriteFile(missing, nil, 0o600))
	if got := openJava(t, classes, missing, "timeout=86400000").ask("ids 1"); !strings.HasPrefix(got, "UNREACHABLE: no daemon is reached at the socket "+missing+": it is no socket") {
		t.Error(got)
	}
}

// A daemon that hangs is left for the one that listens by then.
func javaHangingDaemon(t *testing.T, classes string) {
	f := startFake(t)
	c := openJava(t, classes, f.socket, "maxAge=0", "timeout=5000")
	c.wants("ids 1", "1")
	f.set(func() { f.hung = 1 })
	got := c.ask("ids 1")
	if strings.HasPrefix(got, "TIMEOUT: ") { // it began before the request
		got = c.ask("ids 1")
	}
	if got != "2" {
		t.Errorf("%q, want 2, of the second connection", got)
	}
}

// A daemon that is full is tried again.
func javaFullDaemon(t *testing.T, classes string) {
	f := startFake(t)
	refusals := 3
	f.greet = func() string {
		if refusals == 0 {
			return ""
		}
		refusals--
		return "-ERR too many connections: the limit is 1\r\n"
	}
	openJava(t, classes, f.socket, "timeout=86400000").wants("ids 1", "1")
	if refusals > 0 {
		t.Errorf("%d refusals were not needed", refusals)
	}
}

// Of a reply that took longer than the maximum age, nothing is kept but what calls waited for.
func javaAge(t *testing.T, classes string) {
	const maxAge = 20 * time.Millisecond
	f := startFake(t)
	c := openJava(t, classes, f.socket, "maxAge="+strconv.FormatInt(maxAge.Milliseconds(), 10), "timeout=86400000")
	c.ask("last 500")
	if got := f.asked(); len(got) > 100 {
		t.Fatalf("500 IDs were asked for in %d requests: there is no stock", len(got))
	}
	firsts := map[string]bool{}
	f.set(func() {
		f.reply = func(n int64) (string, bool) {
			<-time.After(2 * maxAge)
			firsts[strconv.FormatInt(f.next, 10)] = true
			return "", true
		}
	})
	c.ask("last 200") // what was in stock
	f.asked()
	got := strings.Fields(c.ask("each 10"))
	f.set(func() {
		for _, id := range got {
			if !firsts[id] {
				t.Errorf("%s was handed out, and is no reply's first ID: it was kept", id)
			}
		}
	})
}

// Of a call that takes some IDs from stock and waits for the others, those from stock are discarded
// if the wait is longer than the maximum age. Stock is counted on by its step, too.
func javaAgeOfSeveral(t *testing.T, classes string) {
	const maxAge = 200 * time.Millisecond
	f := startFake(t)
	f.step = 7
	c := openJava(t, classes, f.socket, "maxAge="+strconv.FormatInt(maxAge.Milliseconds(), 10), "timeout=86400000")
	fromStock := strings.Fields(c.ask("each 500"))
	var fresh int64
	f.set(func() {
		fresh = f.next
		f.reply = func(int64) (string, bool) {
			<-time.After(2 * maxAge)
			return "", true
		}
	})
	got := strings.Fields(c.ask("ids 300")) // more than the stock can have
	if len(got) != 300 {
		t.Errorf("%d IDs", len(got))
	}
	for i, text := range append(fromStock, got...) {
		id := must.Get(strconv.ParseInt(text, 10, 64))(t)
		if (id-1)%f.step != 0 {
			t.Errorf("%d was not drawn", id)
		}
		if i >= len(fromStock) && id < fresh {
			t.Errorf("%d was drawn before the wait", id)
		}
	}
}

// A call that begins after another one has returned gets a higher ID, in whatever threads.
func TestJavaOrder(t *testing.T) {
	h := host(t)
	start(t, h)
	openJava(t, javaConsoles(t), h.Socket).wants("order 200000", "0 wrong")
}
