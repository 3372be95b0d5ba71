package pods

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// Sockets come and go with directories; one that is made anew at once is another's, with a number
// of its own; a user with two directories has one number until both have gone.
func TestSocketsComeAndGo(t *testing.T) {
	dir := filepath.Join(sockettest.Dir(t), "not", "there", "yet")
	s := play(t, dir, nil)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for _, err := os.Stat(dir); err != nil; _, err = os.Stat(dir) {
		<-tick.C
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("the directory has mode %v, %v", info.Mode(), err)
	}
	long := strings.Repeat("x", 64)
	put(t, dir, "a", "shop/front-1")
	put(t, dir, long, "shop/front-1")
	put(t, dir, "b", "shop/back-1")
	put(t, dir, "B", "shop/not-an-id")
	s.until(map[string]string{"a": "shop/front-1", "b": "shop/back-1", long: "shop/front-1"})
	for _, name := range []string{"a", "b"} {
		info, err := os.Stat(socketOf(dir, name))
		if err != nil || info.Mode().Perm() != 0o666 || connects(t, socketOf(dir, name)) != nil {
			t.Errorf("the socket of %s: %v, %v", name, info, err)
		}
	}
	a, b := s.Find("a"), s.Find("b")
	if x := s.Find(long); x.Number != a.Number || b.Number == a.Number || s.User(a.Number) != "shop/front-1" {
		t.Errorf("the numbers are %d, %d and %d", a.Number, x.Number, b.Number)
	}
	remove(t, dir, "a")
	put(t, dir, "a", "other/one")
	s.until(map[string]string{"a": "other/one", "b": "shop/back-1", long: "shop/front-1"})
	if err := connects(t, socketOf(dir, "a")); err != nil {
		t.Errorf("the directory that was made anew: %v", err)
	}
	remove(t, dir, long)
	remove(t, dir, "b")
	s.until(map[string]string{"a": "other/one"})
	s.stop()
	if !s.gone[a.Number] || !s.gone[b.Number] || s.gone[s.Find("a").Number] || s.User(a.Number) != "" {
		t.Errorf("gone are %v of %d and %d", s.gone, a.Number, b.Number)
	}
	if log := s.log.String(); log != "" {
		t.Errorf("the log has:\n%s", log)
	}
}

// What is not as it should be is refused with a code, and neither followed nor waited for. The
// others get their sockets.
func TestWhatIsNotAsItShouldBe(t *testing.T) {
	dir, elsewhere := sockettest.Dir(t), sockettest.Dir(t)
	put(t, elsewhere, "target", "evil/target")
	at := func(name string, more ...string) string {
		return filepath.Join(append([]string{dir, name}, more...)...)
	}
	user := func(name string) string {
		put(t, dir, name, "x/y")
		must.Do(t, os.Remove(at(name, "user")))
		return at(name, "user")
	}
	must := func(err error) {
		t.Helper()
		must.Do(t, err)
	}
	want := map[string]Code{}
	for name, text := range map[string]string{
		"empty": "", "newline": "\n", "two-lines": "a/b\nc/d\n", "space": "a/b c=d", "tab": "a\t/b", "nul": "a/\x00b", "letter": "a/\u00e9", "uid": "0",
		"no-pod": "a/", "no-namespace": "/b", "three": "a/b/c", "long": "n/" + strings.Repeat("p", 319), "longer": "n/" + strings.Repeat("p", 1<<20),
	} {
		put(t, dir, name, "x/y")
		must(os.WriteFile(at(name, "user"), []byte(text), 0o644))
		want[name] = CodeUser
	}
	must(os.Symlink(filepath.Join(elsewhere, "target", "user"), user("link")))
	must(os.Symlink("/dev/zero", user("device-link")))
	must(unix.Mkfifo(user("fifo"), 0o644))
	must(os.Mkdir(user("directory"), 0o755))
	for _, name := range []string{"link", "device-link", "fifo", "directory"} {
		want[name] = CodeUser
	}
	must(os.Symlink(filepath.Join(elsewhere, "target"), at("linked")))
	must(os.WriteFile(at("file"), nil, 0o644))
	must(unix.Mkfifo(at("a-fifo"), 0o644))
	put(t, dir, "socket-link", "a/b")
	must(os.Remove(at("socket-link", "socket")))
	must(os.Symlink(filepath.Join(elsewhere, "target", "socket"), at("socket-link", "socket")))
	put(t, dir, "taken", "a/b")
	must(os.WriteFile(socketOf(dir, "taken"), []byte("kept"), 0o644))
	for _, name := range []string{"linked", "file", "a-fifo", "socket-link", "taken"} {
		want[name] = CodeDirectory
	}
	put(t, dir, "in-use", "a/b")
	other, err := net.Listen("unix", socketOf(dir, "in-use"))
	must(err)
	defer other.Close()
	want["in-use"] = CodeInUse
	_ = user("no-user")
	must(os.Mkdir(at("nothing"), 0o755))
	want["no-user"], want["nothing"] = CodeIncomplete, CodeIncomplete
	put(t, dir, "good", "n/"+strings.Repeat("p", 318))
	put(t, dir, "stale", "a/stale")
	left, err := net.Listen("unix", socketOf(dir, "stale"))
	must(err)
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	must(left.Close())

	s := play(t, dir, nil)
	s.until(map[string]string{"good": "n/" + strings.Repeat("p", 318), "stale": "a/stale"})
	for _, code := range []Code{CodeUser, CodeDirectory, CodeInUse, CodeIncomplete} {
		s.untilSaid("code=" + string(code))
	}
	s.stop()
	for name, code := range want {
		if got := s.refused.all[name].code; got != code {
			t.Errorf("%s is refused by %q, want %q", name, got, code)
		}
	}
	if open, refused := s.Counts(); open != 2 || refused != len(want) {
		t.Errorf("%d are open and %d refused, want 2 and %d", open, refused, len(want))
	}
	if err := connects(t, socketOf(elsewhere, "target")); err == nil {
		t.Error("a link was followed")
	}
	if text, err := os.ReadFile(socketOf(dir, "taken")); string(text) != "kept" {
		t.Errorf("a file was replaced: %q, %v", text, err)
	}
}

// A directory that is made step by step gets its socket, too.
func TestADirectoryInTheMaking(t *testing.T) {
	dir := sockettest.Dir(t)
	s := play(t, dir, nil)
	must.Do(t, os.Mkdir(filepath.Join(dir, "slow"), 0o755))
	s.untilSaid(string(CodeIncomplete))
	must.Do(t, os.WriteFile(filepath.Join(dir, "slow", "user"), []byte("a/b"), 0o644))
	must.Do(t, os.Mkdir(filepath.Join(dir, "slow", "socket"), 0o755))
	s.until(map[string]string{"slow": "a/b"})
}

// A scan that comes while somebody removes a directory puts no new socket in the way. If the
// directory stays, the next one does.
func TestADirectoryThatIsBeingRemoved(t *testing.T) {
	dir := sockettest.Dir(t)
	put(t, dir, "a", "n/a")
	var p *Pods
	s := play(t, dir, func(of *Pods) { p = of })
	s.until(map[string]string{"a": "n/a"})
	s.stop()
	must.Do(t, os.Remove(socketOf(dir, "a")))
	if p.scan(); len(s.server.users()) > 0 || connects(t, socketOf(dir, "a")) == nil {
		t.Error("the first scan made a socket")
	}
	if p.scan(); len(s.server.users()) != 1 || connects(t, socketOf(dir, "a")) != nil {
		t.Error("the second scan made none")
	}
}

// There are no more sockets than there may be. One that goes makes room for another.
func TestThereIsALimit(t *testing.T) {
	dir := sockettest.Dir(t)
	s := play(t, dir, func(p *Pods) { p.config.Most = 2 })
	put(t, dir, "a", "n/a")
	put(t, dir, "b", "n/b")
	s.until(map[string]string{"a": "n/a", "b": "n/b"})
	put(t, dir, "c", "n/c")
	s.untilSaid("code=" + string(CodeFull))
	remove(t, dir, "a")
	s.until(map[string]string{"b": "n/b", "c": "n/c"})
}

// Thousands of changes while nobody looks make inotify lose events. What is there in the end
// has a socket, and nothing else.
func TestEventsThatAreLost(t *testing.T) {
	dir := sockettest.Dir(t)
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Skip(err)
	}
	events := 0
	if _, err := fmt.Sscan(string(text), &events); err != nil || events > 1<<16 {
		t.Skipf("%d events have room: %v", events, err)
	}
	stuck := make(chan struct{})
	put(t, dir, "first", "n/first")
	s := play(t, dir, func(p *Pods) {
		p.usual = time.Hour // nothing but events has it scan
		p.config.Server.(*server).stuck = stuck
	})
	for path := socketOf(dir, "first"); connects(t, path) != nil; { // it is watched, and then looked at
	}
	// What the reader takes off the queue before it has to wait comes on top.
	from, to := filepath.Join(dir, ".x"), filepath.Join(dir, ".y")
	must.Do(t, os.Mkdir(from, 0o755))
	for range (events + 8192) / 2 { // a rename is two events
		must.Do(t, os.Rename(from, to))
		from, to = to, from
	}
	put(t, dir, "last", "n/last")
	close(stuck)
	s.until(map[string]string{"first": "n/first", "last": "n/last"})
}

// Where the directory itself is moved away and another comes in its place, that one counts.
func TestAnotherDirectoryInThePlace(t *testing.T) {
	dir := filepath.Join(sockettest.Dir(t), "pods")
	put(t, dir, "a", "n/a")
	s := play(t, dir, nil)
	s.until(map[string]string{"a": "n/a"})
	must.Do(t, os.Rename(dir, dir+"-away"))
	s.until(map[string]string{})
	put(t, dir, "b", "n/b")
	s.until(map[string]string{"b": "n/b"})
	put(t, dir, "c", "n/c")
	s.until(map[string]string{"b": "n/b", "c": "n/c"})
}

// A file that another process puts in the socket's place is left alone, and the socket without a
// file is closed.
func TestAnotherFileInThePlace(t *testing.T) {
	dir := sockettest.Dir(t)
	put(t, dir, "a", "n/a")
	s := play(t, dir, func(p *Pods) { p.usual = time.Millisecond })
	s.until(map[string]string{"a": "n/a"})
	made := filepath.Join(dir, "made")
	other, err := net.Listen("unix", made)
	if err == nil {
		err = os.Rename(made, socketOf(dir, "a"))
	}
	must.Do(t, err)
	defer other.Close()
	s.until(map[string]string{})
	s.untilSaid(string(CodeInUse))
	if err := connects(t, socketOf(dir, "a")); err != nil {
		t.Errorf("the other's socket: %v", err)
	}
}

// Another process goes on with the sockets, and nobody who connects meanwhile is refused. Its next
// look closes what has gone.
func TestSocketsAreHandedOver(t *testing.T) {
	dir := sockettest.Dir(t)
	before := play(t, dir, nil)
	put(t, dir, "a", "n/a")
	put(t, dir, "b", "n/b")
	before.until(map[string]string{"a": "n/a", "b": "n/b"})
	before.stop()
	handed, err := before.HandOver()
	if err != nil || len(handed) != 2 {
		t.Fatalf("%v, %v", handed, err)
	}
	before.Keep()
	for _, l := range before.server.open {
		must.Do(t, l.Close())
	}
	clear(before.server.open)
	c, err := net.Dial("unix", socketOf(dir, "a"))
	if err != nil {
		t.Fatalf("between two processes: %v", err)
	}
	defer c.Close()
	remove(t, dir, "b")
	old := before.Find("a")
	after := play(t, dir, func(p *Pods) { p.Adopt(handed) })
	after.until(map[string]string{"a": "n/a"})
	after.stop()
	if pod := after.Of(old); pod == nil || pod != after.Find("a") || after.Of(&peercred.Pod{Directory: "a", User: "n/other"}) != nil {
		t.Errorf("the pod is %v", pod)
	}
	l := after.server.open[after.Find("a")].(*listener)
	must.Do(t, l.SetDeadline(time.Now().Add(deadline)))
	accepted, err := l.Accept()
	if err != nil {
		t.Fatalf("who connected between two processes: %v", err)
	}
	_ = accepted.Close()
	if after.server.all != 2 || strings.Contains(after.log.String(), "WARN") {
		t.Errorf("%d were opened; the log:\n%s", after.server.all, after.log)
	}
}
