package daemon_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/api/flakeward/v1/flakewardv1connect"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// withPods is a daemon's configuration with sockets of pods.
func withPods(t *testing.T) daemon.Config {
	c := config(dir(t))
	c.Socket.Pods = filepath.Join(filepath.Dir(c.Socket.Path), "pods")
	must.Do(t, os.Mkdir(c.Socket.Pods, 0o700))
	return c
}

// pod makes a pod's directory, in one step.
func pod(t *testing.T, c daemon.Config, name, user string) daemon.Config {
	t.Helper()
	made := filepath.Join(c.Socket.Pods, ".new-"+name)
	err := os.MkdirAll(filepath.Join(made, "socket"), 0o755)
	err = errors.Join(err, os.WriteFile(filepath.Join(made, "user"), []byte(user), 0o644))
	err = errors.Join(err, os.Rename(made, filepath.Join(c.Socket.Pods, name)))
	must.Do(t, err)
	c.Socket.Path = filepath.Join(c.Socket.Pods, name, "socket", "flakeward.sock")
	return c
}

// served waits until somebody listens on the configuration's socket.
func served(t *testing.T, c daemon.Config) daemon.Config {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); time.Since(begun) < time.Minute; <-tick.C {
		if conn, err := net.Dial("unix", c.Socket.Path); err == nil {
			_ = conn.Close()
			return c
		}
	}
	t.Fatalf("nobody listens on %s", c.Socket.Path)
	return c
}

// clients is CLIENT LIST without what changes from run to run, by users.
func (r *running) clients() map[string]int {
	r.t.Helper()
	text := must.Get(r.client.ClientList(r.t.Context()).Result())(r.t)
	users := make(map[string]int)
	for line := range strings.Lines(text) {
		user, dialect, rate := "", "", ""
		for _, field := range strings.Fields(line) {
			key, value, _ := strings.Cut(field, "=")
			switch key {
			case "user":
				user = value
			case "dialect":
				dialect = value
			case "rate":
				rate = value
			}
		}
		users[user+" "+dialect+" "+rate]++
	}
	return users
}

// Who comes by a pod's socket is the pod in every dialect, with a rate of its own, whatever the
// UID.
func TestPodsAreUsers(t *testing.T) {
	c := withPods(t)
	c.Waiting.Rate, c.Waiting.MaxBlock = "1/s+100", time.Second
	c.Socket.AllowUIDs = []uint32{4_000_000}
	found := make(chan *daemon.Daemon, 1)
	r := startBy(t, c, scraped(found))
	d := <-found
	a, b := served(t, pod(t, c, "a", "shop/front-0")), served(t, pod(t, c, "b", "shop/back-0"))

	inRESP := dial(t, a)
	inRESP.send("NEXT 100\r\n")
	if got := inRESP.line(); got != "*100" {
		t.Fatalf("the first pod gets %q", got)
	}
	for range 100 {
		inRESP.id()
	}
	inRESP.send("NEXT 100\r\n")
	if got := inRESP.line(); !strings.Contains(got, "UNAVAILABLE") {
		t.Errorf("over its rate, the first pod gets %q", got)
	}
	_, body := get(t, sockettest.HTTP(t, b.Socket.Path, false), "/v1/ids?count=60")
	var got struct{ IDs []string }
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.IDs) != 60 {
		t.Errorf("the other pod gets %d IDs by HTTP: %v", len(got.IDs), err)
	}
	rpc := flakewardv1connect.NewIdServiceClient(sockettest.HTTP(t, b.Socket.Path, true), "http://f", connect.WithGRPC())
	if next, err := rpc.Next(t.Context(), connect.NewRequest(&flakewardv1.NextRequest{Count: 40})); err != nil || len(next.Msg.Ids) != 40 {
		t.Errorf("the other pod gets by gRPC: %v", err)
	}
	if _, err := rpc.Next(t.Context(), connect.NewRequest(&flakewardv1.NextRequest{Count: 40})); err == nil {
		t.Error("gRPC has a rate of its own, beside the one of HTTP")
	}
	r.next() // this process's own user has its rate, too

	want := map[string]int{"shop/front-0 resp 1/s+100": 1, "shop/back-0 http none": 2, fmt.Sprint(os.Getuid(), " resp 1/s+100"): 1}
	if users := r.clients(); fmt.Sprint(users) != fmt.Sprint(want) {
		t.Errorf("CLIENT LIST has %v, want %v", users, want)
	}
	if info := r.info(); info["pod_sockets"] != "2" || info["pods_refused"] != "0" {
		t.Errorf("INFO has %s sockets of pods, and %s refused", info["pod_sockets"], info["pods_refused"])
	}
	_, _, metrics := scrape(d)
	for name, want := range map[string]string{
		`flakeward_user_ids_total{pod="shop/front-0",uid=""}`: "100", `flakeward_user_ids_total{pod="shop/back-0",uid=""}`: "100",
		`flakeward_user_rate_limit{pod="shop/back-0",uid=""}`: "1", "flakeward_pod_sockets": "2", "flakeward_pods_refused": "0",
	} {
		if metrics[name] != want {
			t.Errorf("%s is %q, want %s", name, metrics[name], want)
		}
	}
	// One that has gone is shown no more, and has its burst anew if it comes again.
	must.Do(t, os.RemoveAll(filepath.Join(c.Socket.Pods, "a")))
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for begun := time.Now(); r.info()["pod_sockets"] != "1" && time.Since(begun) < time.Minute; {
		<-tick.C
	}
	if _, text, _ := scrape(d); strings.Contains(text, "front-0") {
		t.Error("the metrics show a pod that has gone")
	}
	again := dial(t, served(t, pod(t, c, "a", "shop/front-0")))
	again.send("NEXT 100\r\n")
	if got := again.line(); got != "*100" {
		t.Errorf("the pod that has come again gets %q", got)
	}
	r.Stop()
	for _, c := range []daemon.Config{a, b} {
		if _, err := os.Lstat(c.Socket.Path); err == nil {
			t.Errorf("%s is left after the end", c.Socket.Path)
		}
	}
}

// Two pods of one UID have the same share, though one of them has many connections that ask for
// much. As one user, the other would have one turn of 17.
func TestAGreedyPodLeavesTheOtherItsShare(t *testing.T) {
	c := withPods(t)
	c.IDs.Layout = "time=41@1ms,worker=10,sequence=4;epoch=2026-01-01" // 16 a millisecond
	start(t, c)
	greedy, modest := served(t, pod(t, c, "greedy", "n/greedy")), served(t, pod(t, c, "modest", "n/modest"))
	const size, turns = 64, 40
	var stop atomic.Bool
	var taken atomic.Int64
	var pulling sync.WaitGroup
	ask := func(a *asker) {
		a.send(fmt.Sprintf("NEXT %d\r\n", size))
		if got := a.line(); got != fmt.Sprint("*", size) {
			t.Errorf("a pod gets %q", got)
			stop.Store(true)
			return
		}
		for range size {
			a.id()
		}
	}
	for range 16 {
		a := dial(t, greedy)
		pulling.Go(func() {
			for !stop.Load() {
				ask(a)
				taken.Add(1)
			}
		})
	}
	other := dial(t, modest)
	ask(other)
	before := taken.Load()
	var waits []time.Duration
	for range turns {
		begun := time.Now()
		if ask(other); stop.Load() {
			break
		}
		waits = append(waits, time.Since(begun))
	}
	of := taken.Load() - before
	stop.Store(true)
	pulling.Wait()
	slices.Sort(waits)
	t.Logf("FIGURE beside 16 connections of another pod with the same UID, %d requests for %d came in the time of its %d; each took %v in the middle, and %v at most",
		len(waits), size, of, waits[len(waits)/2], waits[len(waits)-1])
	if of > 6*turns {
		t.Errorf("the greedy pod had %d turns for %d of the other", of, turns)
	}
}

// Nobody notices on pods' sockets that one daemon goes on in another's place: no request fails,
// nobody who connects is refused, and the pods keep their names.
func TestTakeoverWithPods(t *testing.T) {
	c := withPods(t)
	d := start(t, c)
	var askers []*asker
	var pulling sync.WaitGroup
	stop := make(chan struct{})
	var dials atomic.Int64
	var mu sync.Mutex
	var all []int64
	for i := range 4 {
		of := served(t, pod(t, c, fmt.Sprint("p", i), fmt.Sprint("n/p", i)))
		for range 2 {
			a := dial(t, of)
			askers = append(askers, a)
			pulling.Go(func() { a.pull(1+i*10, stop) })
		}
		pulling.Go(func() { // connects anew for each request
			for {
				select {
				case <-stop:
					return
				default:
				}
				conn, err := net.Dial("unix", of.Socket.Path)
				if err != nil {
					t.Errorf("a connection is refused: %v", err)
					return
				}
				one := &asker{t: t, conn: conn, replies: bufio.NewReader(conn)}
				one.send("NEXT\r\n")
				ok := one.id()
				_ = conn.Close()
				mu.Lock()
				all = append(all, one.ids...)
				mu.Unlock()
				if !ok {
					return
				}
				dials.Add(1)
			}
		})
	}
	const idle = 250 // more than one message hands over
	for i := range idle {
		pod(t, c, fmt.Sprint("idle", i), fmt.Sprint("n/idle", i))
	}
	served(t, pod(t, c, "last", "n/idle0"))
	link := filepath.Join(dir(t), "link") // by way of a symlink it is the same directory
	must.Do(t, os.Symlink(c.Socket.Pods, link))
	for i := range 5 {
		d.config.Socket.Pods = []string{link, c.Socket.Pods}[i%2]
		d = takeOver(t, d)
		served(t, pod(t, c, fmt.Sprint("q", i), "n/late"))
	}
	users := d.clients()
	for i := range 4 {
		if n := users[fmt.Sprintf("n/p%d resp none", i)]; n < 2 {
			t.Errorf("the pod %d has %d connections, want 2 or more: %v", i, n, users)
		}
	}
	if n := d.info()["pod_sockets"]; n != fmt.Sprint(idle+10) {
		t.Errorf("there are %s sockets of pods, want %d", n, idle+10)
	}
	close(stop)
	pulling.Wait()
	for _, a := range askers {
		all = append(all, a.ids...)
	}
	n := len(all)
	slices.Sort(all)
	if twice := n - len(slices.Compact(all)); twice > 0 || n < 1000 || dials.Load() < 100 {
		t.Errorf("of %d IDs %d came twice, over %d short connections", n, twice, dials.Load())
	}
	t.Logf("FIGURE 5 takeovers: %d IDs on 8 connections, and %d short connections, 0 refused", n, dials.Load())

	// A newcomer with another directory, or with none, would leave pods without sockets.
	for _, other := range []string{"", c.Socket.Pods + "2"} {
		wrong := d.config
		wrong.Takeover, wrong.Socket.Pods = true, other
		if err := launch(t, wrong).Refusal(); err == nil || !strings.Contains(err.Error(), "--pod-sockets") {
			t.Errorf("a newcomer with --pod-sockets %q: %v", other, err)
		}
	}
}

// While pods come and go by the hundred, nobody else notices.
func TestPodsGoUnderLoad(t *testing.T) {
	c := withPods(t)
	d := start(t, c)
	stays := served(t, pod(t, c, "stays", "n/stays"))
	stop := make(chan struct{})
	var pulling sync.WaitGroup
	a := dial(t, stays)
	pulling.Go(func() { a.pull(10, stop) })
	const rounds = 150
	for i := range rounds {
		name := fmt.Sprint("p", i%3)
		of := served(t, pod(t, c, name, fmt.Sprint("n/p", i)))
		conn := must.Get(net.Dial("unix", of.Socket.Path))(t)
		ended := make(chan struct{})
		go func() { // asks until its connection is closed
			defer close(ended)
			_, _ = io.Copy(io.Discard, conn)
		}()
		for range 10 {
			_, _ = conn.Write([]byte("NEXT 1000\r\nRUN 1000\r\n"))
		}
		must.Do(t, os.RemoveAll(filepath.Join(c.Socket.Pods, name)))
		if i%2 == 0 {
			<-ended // before another directory of that name comes
		} else {
			served(t, pod(t, c, name, "n/at-once"))
			<-ended
			must.Do(t, os.RemoveAll(filepath.Join(c.Socket.Pods, name)))
		}
		_ = conn.Close()
	}
	d.until("all have gone but one", func(info map[string]string) bool { return info["pod_sockets"] == "1" })
	close(stop)
	pulling.Wait()
	want := fmt.Sprint(map[string]int{"n/stays resp none": 1, fmt.Sprint(os.Getuid(), " resp none"): 1})
	if users := d.clients(); fmt.Sprint(users) != want {
		t.Errorf("CLIENT LIST has %v, want %s", users, want)
	}
	if len(a.ids) < 100 {
		t.Errorf("only %d IDs came: the test shows nothing", len(a.ids))
	}
	if log := d.log.String(); strings.Contains(log, "[WARN]  pods") || strings.Contains(log, "a pod gets no socket") {
		t.Errorf("the log has:\n%s", log)
	}
}
