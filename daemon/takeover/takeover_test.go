package takeover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/serve"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// A busy machine does not end a conversation here.
func init() { stillTimeout = time.Minute }

var ours = Settings{Layout: "time=41@1ms", Coord: "dir:/c"}

// lived is what a newcomer is told before it claims a worker ID.
var lived = Running{Time: lifecycle.Time{Wall: 3, Boot: 4}, Age: time.Hour, Cluster: "c"}

func oursNow() (Settings, Running) { return ours, lived }

// A newcomer may have another coordinator where that holds the same cluster.
func TestAnotherCoordinatorOfTheSameCluster(t *testing.T) {
	with := func(coord, cluster string) Settings {
		s := ours
		s.Coord, s.Cluster = coord, cluster
		return s
	}
	running := with("etcd://a/x", "u")
	for _, c := range []struct {
		newcomer Settings
		differs  bool
	}{
		{with("etcd://a/x", ""), false},
		{with("etcd://a/x", "v"), false}, // its start refuses the cluster
		{with("zk://b/x", "u"), false},
		{with("zk://b/x", "v"), true},
		{with("zk://b/x", ""), true},
	} {
		if why := running.differs(c.newcomer); (why != "") != c.differs {
			t.Errorf("%+v: %q", c.newcomer, why)
		}
	}
	if ours.differs(with("zk://b/x", "")) == "" {
		t.Error("two clusters that nobody knows are taken for one")
	}
}

// waiting is a daemon with a socket at path that can be taken over, and who is ready to.
func waiting(t *testing.T, path string) <-chan *Successor {
	t.Helper()
	l := must.Get(Listen(path, "old", oursNow, hclog.NewNullLogger()))(t)
	return await(t, l)
}

func await(t *testing.T, l *Listener) <-chan *Successor {
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan *Successor, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if s, err := l.Await(ctx); err == nil {
			ready <- s
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		_ = l.Close()
	})
	return ready
}

// file is a file with a text in it.
func file(t *testing.T, text string) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	f := must.Get(os.Open(path))(t)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// holds reads what is in a file that was handed over.
func holds(t *testing.T, f *os.File) string {
	t.Helper()
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

// Everything arrives as it was handed over, also where one message has no room for all connections.
func TestEverythingArrives(t *testing.T) {
	path := filepath.Join(sockettest.Dir(t), "s")
	ready := waiting(t, path)
	p, err := Ask(t.Context(), path, "new", ours)
	if err != nil || p.Version != "old" {
		t.Fatalf("%+v, %v", p, err)
	}
	defer p.Close()
	must.Do(t, p.Ready(t.Context(), true))
	s := <-ready
	if s.Version != "new" || !s.Held || p.Running != lived {
		t.Errorf("the newcomer is of version %q, holds a worker ID: %v, and was told %+v", s.Version, s.Held, p.Running)
	}
	const many = 2*perMessage + 7
	var all []serve.Connection
	for i := range many {
		raw := must.Get(file(t, strings.Repeat("x", i)).SyscallConn())(t)
		c := serve.Connection{ID: int64(i), In: []byte{byte(i)}, Out: make([]byte, 3000)}
		must.Do(t, raw.Control(func(fd uintptr) { c.FD = int(fd) }))
		all = append(all, c)
	}
	commit := Commit{Connections: many, Lock: file(t, "lock"), Listener: file(t, "listener")}
	sent := make(chan error, 1)
	go func() {
		sent <- errors.Join(s.Offer(t.Context(), all), s.Commit(t.Context(), commit), s.Close())
	}()
	got, open, err := p.Receive(t.Context(), many)
	must.Do(t, errors.Join(err, <-sent))
	if holds(t, got.Lock) != "lock" || holds(t, got.Listener) != "listener" {
		t.Errorf("handed over: %+v", got)
	}
	for i, c := range open {
		f := os.NewFile(uintptr(c.FD), "")
		if c.ID != int64(i) || len(c.In) != 1 || c.In[0] != byte(i) || len(c.Out) != 3000 || len(holds(t, f)) != i {
			t.Fatalf("connection %d is %+v", i, c)
		}
	}
	if len(open) != many {
		t.Errorf("%d connections, want %d", len(open), many)
	}
}

// A message is cut by what its connections have as well, and one of them is never too much.
func TestAMessageHasSoManyBytes(t *testing.T) {
	out := func(n, bytes int) []serve.Connection {
		all := make([]serve.Connection, n)
		for i := range all {
			all[i].Out = make([]byte, bytes)
		}
		return all
	}
	queued := out(3, 0)
	for i := range queued {
		queued[i].Session.Transaction = &resp.Transaction{Queue: make([]byte, messageBytes/2)}
	}
	for name, c := range map[string]struct {
		all  []serve.Connection
		want int
	}{
		"few":             {out(3, 10), 3},
		"as many as fit":  {out(perMessage, 10), perMessage},
		"one more":        {out(perMessage+1, 10), perMessage},
		"much":            {out(10, messageBytes/4), 4},
		"too much of one": {out(2, 2*messageBytes), 1},
		"queued requests": {queued, 2},
	} {
		if got := len(first(c.all)); got != c.want {
			t.Errorf("%s: a message has %d of %d, want %d", name, got, len(c.all), c.want)
		}
	}
}

// Who cannot be accepted for a while is accepted then.
func TestANewcomerIsAcceptedOnceThereAreDescriptors(t *testing.T) {
	path := filepath.Join(sockettest.Dir(t), "s")
	var log logtest.Buffer
	l := must.Get(Listen(path, "old", oursNow, log.At(hclog.Warn)))(t)
	asked := make(chan error, 1)
	dialled := must.Get(net.Dial("unix", path+suffix))(t)
	defer dialled.Close()
	var limit unix.Rlimit
	must.Do(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit), unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	go func() {
		_, err := l.Await(t.Context())
		asked <- err
	}()
	must.Soon(t, func() bool { return strings.Contains(log.String(), "cannot accept a connection") }, "the log says so")
	must.Do(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	must.Do(t, dialled.Close()) // it is accepted, and has nothing to say
	must.Soon(t, func() bool { return strings.Contains(log.String(), "does not take over") }, "it is accepted")
	must.Do(t, l.Close())
	must.Fail(t, <-asked, net.ErrClosed)
}

// A COMMIT that tells of more than came leaves nobody who goes on: the one that sent it has ended.
func TestACommitThatIsNotCompleteIsNoTakeover(t *testing.T) {
	path := filepath.Join(sockettest.Dir(t), "s")
	ready := waiting(t, path)
	p := must.Get(Ask(t.Context(), path, "new", ours))(t)
	defer p.Close()
	must.Do(t, p.Ready(t.Context(), true))
	s := <-ready
	raw := must.Get(file(t, "x").SyscallConn())(t)
	all := make([]serve.Connection, 1)
	must.Do(t, raw.Control(func(fd uintptr) { all[0].FD = int(fd) }))
	commit := Commit{Connections: 2, Lock: file(t, "lock"), Listener: file(t, "listener")}
	sent := make(chan error, 1)
	go func() {
		sent <- errors.Join(s.Offer(t.Context(), all), s.Commit(t.Context(), commit), s.Close())
	}()
	_, open, err := p.Receive(t.Context(), 2)
	if !errors.Is(err, ErrBroken) || len(open) > 0 {
		t.Errorf("%d connections are gone on with: %v", len(open), err)
	}
	must.Do(t, <-sent)
}

// A newcomer that may have fewer files open than it would have connections takes nothing, while the
// running daemon still owns everything.
func TestConnectionsWithoutRoomAreNotTaken(t *testing.T) {
	path := filepath.Join(sockettest.Dir(t), "s")
	ready := waiting(t, path)
	p, err := Ask(t.Context(), path, "new", ours)
	if err == nil {
		err = p.Ready(t.Context(), true)
	}
	must.Do(t, err)
	s := <-ready
	raw := must.Get(file(t, "x").SyscallConn())(t)
	all := make([]serve.Connection, perMessage+1)
	for i := range all {
		must.Do(t, raw.Control(func(fd uintptr) { all[i].FD = int(fd) }))
	}
	offered := make(chan error, 1)
	go func() { offered <- errors.Join(s.Offer(t.Context(), all), s.Close()) }()
	_, taken, err := p.Receive(t.Context(), len(all)-1)
	if err == nil || errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "raise the limit") || len(taken) > 0 {
		t.Errorf("%d connections were taken: %v", len(taken), err)
	}
	if err := errors.Join(p.Close(), <-offered); !errors.Is(err, ErrBroken) {
		t.Errorf("the running daemon is told %v", err)
	}
}

// A path that just fits into a socket's address is no hindrance.
func TestALongPathIsNoHindrance(t *testing.T) {
	dir := sockettest.Dir(t)
	dir = filepath.Join(dir, strings.Repeat("l", 104-len(dir)))
	must.Do(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "s")
	if _, err := Ask(t.Context(), path, "new", ours); !errors.Is(err, ErrNobody) {
		t.Errorf("without a socket: %v", err)
	}
	waiting(t, path)
	p := must.Get(Ask(t.Context(), path, "new", ours))(t)
	must.Do(t, p.Close())
}

// Versions whose messages differ do not take over from each other, and who waits serves the next
// one.
func TestAnotherProtocolIsRefused(t *testing.T) {
	path := filepath.Join(sockettest.Dir(t), "s")
	waiting(t, path)
	for _, protocol := range []int{Protocol - 1, Protocol + 1} {
		c := must.Get(dial(t.Context(), path))(t)
		must.Do(t, c.send(t.Context(), message{Kind: offer, Protocol: protocol, Version: "other", Settings: &ours}, stillTimeout))
		_, _, err := c.receive(t.Context(), accept, readyTimeout)
		var refused *RefusedError
		if want := fmt.Sprintf("of version other, speaks %d", protocol); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("protocol %d: %v", protocol, err)
		}
		must.Do(t, c.Close())
	}
	p := must.Get(Ask(t.Context(), path, "new", ours))(t)
	must.Do(t, p.Close())
}

// A newcomer goes on with files that have to be the daemon's: one of another user is refused. Root
// may connect to whatever belongs to others.
func TestWhoIsOfAnotherUserIsRefused(t *testing.T) {
	path := filepath.Join(sockettest.Dir(t), "s")
	l, err := Listen(path, "old", oursNow, hclog.NewNullLogger())
	must.Do(t, err)
	l.uid++
	await(t, l)
	want := fmt.Sprintf("it is of user %d, and who asks is of user %d", l.uid, l.uid-1)
	_, err = Ask(t.Context(), path, "new", ours)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("who is refused hears %v, want %q", err, want)
	}
}

func TestNobodyIsThere(t *testing.T) {
	path := filepath.Join(sockettest.Dir(t), "s")
	if _, err := Ask(t.Context(), path, "new", ours); !errors.Is(err, ErrNobody) {
		t.Errorf("without a socket: %v", err)
	}
	l := must.Get(Listen(path, "old", oursNow, hclog.NewNullLogger()))(t)
	must.Do(t, l.Close())
	if _, err := Ask(t.Context(), path, "new", ours); !errors.Is(err, ErrNobody) {
		t.Errorf("with a stale socket: %v", err)
	}
}

// Whatever comes in a message's place is an error, and leaves no descriptor open.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x12\x00{\"Kind\":\"COMMIT\"}"))
	f.Add([]byte("\xff\xff\xff\xff\x00{}"))
	f.Add([]byte("\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pair := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(sockettest.Dir(t), "s"), Net: "unix"}))(t)
		defer pair.Close()
		theirs := must.Get(net.DialUnix("unix", nil, pair.Addr().(*net.UnixAddr)))(t)
		mine := must.Get(pair.AcceptUnix())(t)
		defer mine.Close()
		go func() {
			_, _ = theirs.Write(data)
			_ = theirs.Close()
		}()
		m, descriptors, err := link{mine}.receive(t.Context(), commit, readyTimeout)
		if err != nil && descriptors != nil {
			t.Errorf("an error and %d descriptors", len(descriptors))
		}
		if err == nil && m.Kind != commit {
			t.Errorf("%+v was taken for a %s", m, commit)
		}
	})
}
