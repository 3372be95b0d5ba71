package cli

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// script is a stand-in for a daemon: it answers each command with the replies
// it was given for it, in turn; the last one again and again.
type script map[string][]string

// serve answers on a socket until the test ends, and returns its path. The
// requests it got are sent to seen, if there is room.
func (s script) serve(t *testing.T, seen chan<- string) string {
	t.Helper()
	return sockettest.Serve(t, func(_ int, c *sockettest.Conn) {
		turn := make(map[string]int)
		c.Answer(func(request string) (string, bool) {
			name, rest, _ := strings.Cut(request, " ")
			name = strings.ToUpper(name)
			replies, ok := s[name]
			if !ok {
				replies = []string{"-ERR unknown command '" + name + "'\r\n"}
			}
			select {
			case seen <- strings.TrimSpace(name + " " + rest):
			default:
			}
			reply := replies[min(turn[name], len(replies)-1)]
			turn[name]++
			return reply, reply != ""
		})
	})
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

func integers(values ...int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(values))
	for _, v := range values {
		fmt.Fprintf(&b, ":%d\r\n", v)
	}
	return b.String()
}

// command runs a command to its end and returns what it printed.
func command(t *testing.T, stdin string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut strings.Builder
	err = Run(t.Context(), append([]string{"flakeward"}, args...), strings.NewReader(stdin), &out, &errOut, nil)
	return out.String(), errOut.String(), err
}

func TestNext(t *testing.T) {
	thousand := make([]int64, batch)
	for i := range thousand {
		thousand[i] = int64(i + 1)
	}
	for _, c := range []struct {
		name    string
		replies []string
		args    []string
		asked   string
		want    string
	}{
		{"one", []string{integers(7)}, nil, "NEXT 1", "7\n"},
		{"several", []string{integers(7, 8, 9)}, []string{"3"}, "NEXT 3", "7\n8\n9\n"},
		{"for a tenant, the flag last", []string{integers(7)}, []string{"1", "--tenant", "5"}, "NEXT 1 TENANT 5", "7\n"},
		{"for tenant 0", []string{integers(7)}, []string{"--tenant=0"}, "NEXT 1 TENANT 0", "7\n"},
		{"in a form", []string{"*2\r\n" + bulk("0000000000z") + bulk("00000000010")}, []string{"--as", "BASE62", "2"}, "NEXT 2 AS base62", "0000000000z\n00000000010\n"},
		{"in the daemon's form", []string{"*1\r\n" + bulk("7")}, nil, "NEXT 1", "7\n"},
		{"in a form, for a tenant", []string{"*1\r\n" + bulk("7")}, []string{"--as", "string", "--tenant", "5"}, "NEXT 1 TENANT 5 AS string", "7\n"},
		{"runs as integers", []string{integers(1, 100, 3)}, []string{"--run", "--as", "integer", "3"}, "RUN 3", "100 3 1\n"},
		{"runs", []string{integers(1, 100, 3, 4000, 2)}, []string{"--run", "5"}, "RUN 5", "100 3 1\n4000 2 1\n"},
		{"many runs in one request", []string{integers(1, 100, 4000, 8192, 1000)}, []string{"--run", "5000"}, "RUN 5000", "100 4000 1\n8192 1000 1\n"},
		{"runs, the flag last", []string{integers(256, 100, 5)}, []string{"5", "--run"}, "RUN 5", "100 5 256\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := make(chan string, 10)
			socket := script{"NEXT": c.replies, "RUN": c.replies}.serve(t, seen)
			out, _, err := command(t, "", append([]string{"next", "--socket", socket}, c.args...)...)
			must.Do(t, err)
			if out != c.want {
				t.Errorf("printed %q, want %q", out, c.want)
			}
			if asked := <-seen; asked != c.asked {
				t.Errorf("asked %q, want %q", asked, c.asked)
			}
		})
	}

	t.Run("what came before an error is printed", func(t *testing.T) {
		socket := script{"NEXT": {integers(thousand...), "-UNAVAILABLE the disk is full\r\n"}}.serve(t, nil)
		out, _, err := command(t, "", "next", "--socket", socket, "2500")
		if n := strings.Count(out, "\n"); n != batch {
			t.Errorf("%d lines printed, want %d", n, batch)
		}
		if err == nil || !strings.Contains(err.Error(), "after 1000 of 2500 IDs: ") || !strings.Contains(err.Error(), "UNAVAILABLE the disk is full") {
			t.Errorf("the error is %v", err)
		}
	})
}

const refused = "-ERR the count 25 is over the limit of 10: ask several times\r\n"

func TestNextTakesAsManyAtOnceAsTheDaemonLets(t *testing.T) {
	some := func(n int) string { return integers(make([]int64, n)...) }
	for _, c := range []struct {
		name   string
		daemon script
		want   string // what is asked
	}{
		{"it tells the limit", script{"NEXT": {refused, some(10), some(10), some(5)}, "INFO": {bulk("max_count:10\r\n")}}, "NEXT 25,INFO,NEXT 10,NEXT 10,NEXT 5"},
		{"it does not", script{"NEXT": {refused, some(12), some(12), some(1)}, "INFO": {bulk("a:b\r\n")}}, "NEXT 25,INFO,NEXT 12,NEXT 12,NEXT 1"},
		{"it tells what it does not keep to", script{"NEXT": {refused, refused, some(6), some(6), some(6), some(6), some(1)}, "INFO": {bulk("max_count:100\r\n")}},
			"NEXT 25,INFO,NEXT 12,INFO,NEXT 6,NEXT 6,NEXT 6,NEXT 6,NEXT 1"},
		{"fewer can be had in time", script{"NEXT": {"-UNAVAILABLE 25 IDs cannot be had within 2s: at most 10 can; code=count-too-large: ask for no more at a time\r\n", some(10), some(10), some(5)}},
			"NEXT 25,NEXT 10,NEXT 10,NEXT 5"},
		{"fewer can be had now", script{"NEXT": {"-UNAVAILABLE 25 IDs cannot be had within 2s: at most 5 can now; code=count-too-large: ask for no more, or try again in 1s\r\n", some(5), some(10), some(10)}},
			"NEXT 25,NEXT 5,NEXT 10,NEXT 10"},
		{"it has no INFO", script{"NEXT": {refused, some(12), some(12), some(1)}}, "NEXT 25,INFO,NEXT 12,NEXT 12,NEXT 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := make(chan string, 100)
			socket := c.daemon.serve(t, seen)
			out, _, err := command(t, "", "next", "--socket", socket, "25")
			if n := strings.Count(out, "\n"); n != 25 || err != nil {
				t.Errorf("%d lines, %v", n, err)
			}
			var asked []string
			for len(seen) > 0 {
				asked = append(asked, strings.ToUpper(<-seen))
			}
			if got := strings.Join(asked, ","); got != c.want {
				t.Errorf("asked %s, want %s", got, c.want)
			}
		})
	}
	t.Run("its INFO comes too late", func(t *testing.T) {
		late := make(chan struct{})
		socket := sockettest.Serve(t, func(number int, c *sockettest.Conn) {
			c.Answer(func(request string) (string, bool) {
				switch {
				case request == "INFO":
					<-late
					return bulk("max_count:10\r\n"), true
				case number == 0:
					return refused, true
				}
				n, _ := strconv.Atoi(strings.TrimPrefix(request, "NEXT "))
				return some(n), true
			})
		})
		out, _, err := command(t, "", "next", "--socket", socket, "--timeout", "100ms", "25")
		close(late)
		if n := strings.Count(out, "\n"); n != 25 || err != nil {
			t.Errorf("%d lines, %v", n, err)
		}
	})
	t.Run("one is too many", func(t *testing.T) {
		if _, _, err := command(t, "", "next", "--socket", script{"NEXT": {refused}}.serve(t, nil), "25"); err == nil || !strings.Contains(err.Error(), "over the limit") {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestNextRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply string
		args  []string
		want  string
		code  int
	}{
		{"no count", "", []string{"many"}, `the count "many" is not`, ExitUsage},
		{"a count of 0", "", []string{"0"}, `the count "0" is not`, ExitUsage},
		{"a negative count", "", []string{"--", "-4"}, `the count "-4" is not`, ExitUsage},
		{"no time", "", []string{"--timeout", "0s"}, "--timeout is 0s: give a duration above 0", ExitUsage},
		{"two counts", "", []string{"1", "2"}, `got "2" too`, ExitUsage},
		{"a tenant that is none", "", []string{"--tenant", ""}, "tenant", ExitUsage},
		{"a name for a tenant", "-ERR the tenant 'order' is not a whole number from 0 to 7\r\n", []string{"--tenant", "order"}, "the tenant 'order'", ExitRefused},
		{"a form that is none", "", []string{"--as", "bas62"}, "did you mean base62?", ExitUsage},
		{"runs in a form", "", []string{"--run", "--as", "uuid"}, "--run prints integers: leave --as uuid out", ExitUsage},
		{"an error reply", "-UNAVAILABLE the clock is 1h behind\r\n", nil, "answers: UNAVAILABLE the clock is 1h behind", ExitNotReady},
		{"a refusal", "-ERR the tenant '9' is not a whole number from 0 to 7\r\n", []string{"--tenant", "9"}, "answers: ERR the tenant", ExitRefused},
		{"another kind of reply", "+OK\r\n", nil, "is it a flakeward daemon", ExitFailed},
		{"an array of something else", "*1\r\n$0\r\n\r\n", nil, "is it a flakeward daemon", ExitFailed},
		{"an empty array", "*0\r\n", nil, "is it a flakeward daemon", ExitFailed},
		{"runs without runs", integers(1), []string{"--run"}, "is it a flakeward daemon", ExitFailed},
		{"runs of nothing", integers(1, 100, 0), []string{"--run"}, "is it a flakeward daemon", ExitFailed},
		{"a closed connection", "", nil, "asking the daemon at", ExitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := make(chan string, 10)
			socket := script{"NEXT": {c.reply}, "RUN": {c.reply}}.serve(t, seen)
			out, _, err := command(t, "", append([]string{"next", "--socket", socket}, c.args...)...)
			if len(seen) > 1 {
				t.Errorf("asked %d times", len(seen))
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("the error is %v, want %q in it", err, c.want)
			}
			if code := ExitCode(err); code != c.code {
				t.Errorf("the status is %d, want %d", code, c.code)
			}
			if out != "" {
				t.Errorf("printed %q", out)
			}
		})
	}
}

func TestNoDaemon(t *testing.T) {
	dir := t.TempDir()
	dead, file := filepath.Join(dir, "dead"), filepath.Join(dir, "file")
	must.Do(t, os.WriteFile(file, nil, 0o600))
	listener := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"}))(t)
	listener.SetUnlinkOnClose(false)
	must.Do(t, listener.Close())
	for _, c := range []struct{ name, socket, want string }{
		{"no file", filepath.Join(dir, "missing"), "there is no such socket"},
		{"a socket left behind", dead, "nobody listens there"},
		{"a regular file", file, "nobody listens there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := command(t, "", "status", "--socket", c.socket)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.socket) || !strings.Contains(err.Error(), "--socket") {
				t.Errorf("the error is %v, want %q in it, the path, and the way out", err, c.want)
			}
			if code := ExitCode(err); code != ExitNoDaemon {
				t.Errorf("the status is %d, want %d", code, ExitNoDaemon)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	const cluster = "# Cluster\r\nlayout:twitter\r\n\r\n# Worker\r\nstate:"
	for _, c := range []struct {
		name, info string
		args       []string
		out, err   string
		code       int
	}{
		{"ready", cluster + "ready\r\nworker_id:3\r\n# Replication\r\nrole:master\r\n# Keyspace\r\n", nil, "Cluster\n  layout  twitter\n\nWorker\n  state      ready\n  worker_id  3\n", "", ExitOK},
		{"ready, in JSON", cluster + "ready\r\n", []string{"--json"}, `{"Cluster":{"layout":"twitter"},"Worker":{"state":"ready"}}` + "\n", "", ExitOK},
		{"in JSON, with types", "# Server\r\nhost:1\r\nmax_count:-7\r\nversion:007\r\nused_cpu_sys:0.25\r\nclaimed:true\r\nclaim:12\r\nempty:\r\nstate:ready\r\n", []string{"--json"},
			`{"Server":{"claim":"12","claimed":true,"empty":"","host":"1","max_count":-7,"state":"ready","used_cpu_sys":0.25,"version":"007"}}` + "\n", "", ExitOK},
		{"a Redis server", "# Server\r\nredis_version:7.0.15\r\n", nil, "", "is a Redis server (version 7.0.15) and no flakeward daemon", ExitFailed},
		{"a daemon that speaks as Redis does", "# Server\r\nflakeward_version:1\r\nredis_version:7.2.0\r\nstate:ready\r\n", nil, "", "", ExitOK},
		{"the clock behind, but served", cluster + "clock-behind\r\n", nil, "", "", ExitOK},
		{"starting", cluster + "starting\r\n", nil, "", "cannot issue IDs yet: starting", ExitNotReady},
		{"stopped, with the reason", cluster + "stopped\r\ncondition:no space left\r\n", nil, "", "stopped: no space left", ExitNotReady},
		{"silent", "# Server\r\n", nil, "", "does not tell its state", ExitNotReady},
	} {
		t.Run(c.name, func(t *testing.T) {
			socket := script{"INFO": {bulk(c.info)}}.serve(t, nil)
			out, _, err := command(t, "", append([]string{"status", "--socket", socket}, c.args...)...)
			if c.out != "" && out != c.out {
				t.Errorf("printed %q, want %q", out, c.out)
			}
			if code := ExitCode(err); code != c.code {
				t.Errorf("the status is %d, want %d", code, c.code)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("the error is %v, want %q in it", err, c.err)
			}
		})
	}
}

func TestClientsReadTheDaemonsConfiguration(t *testing.T) {
	socket := script{"NEXT": {integers(7)}}.serve(t, nil)
	file := filepath.Join(t.TempDir(), "flakeward.yaml")
	must.Do(t, os.WriteFile(file, []byte("ttl: 10s\nsocket: "+socket+"\n"), 0o600))
	if out, _, err := command(t, "", "next", "--config", file); out != "7\n" || err != nil {
		t.Errorf("with --config: %q, %v", out, err)
	}
	t.Setenv("FLAKEWARD_SOCKET", socket)
	if out, _, err := command(t, "", "next"); out != "7\n" || err != nil {
		t.Errorf("with FLAKEWARD_SOCKET: %q, %v", out, err)
	}
}

// A daemon that is full refuses a connection unasked and closes it. Whether the request can still
// be sent or not, the refusal is what is said.
func TestARefusedConnectionSaysWhy(t *testing.T) {
	for range 40 {
		l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
		must.Do(t, err)
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("-ERR too many connections: the limit is 1\r\n"))
			_ = c.Close()
		}()
		var out, errs bytes.Buffer
		err = Run(t.Context(), []string{"flakeward", "next", "--socket", l.Addr().String()}, strings.NewReader(""), &out, &errs, nil)
		if err == nil || !strings.HasSuffix(err.Error(), "refuses the connection: ERR too many connections: the limit is 1") || ExitCode(err) != ExitFailed {
			t.Fatalf("%v; %s; status %d", err, &errs, ExitCode(err))
		}
		_ = l.Close()
	}
}
