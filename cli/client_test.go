package cli

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// script is a stand-in for a daemon: it answers each command with the replies
// it was given for it, in turn; the last one again and again. It greets as a daemon does.
type script map[string][]string

// greets is what a client asks at the beginning.
const greets = "INFO server cluster"

// serve answers on a socket until the test ends, and returns its path. The
// requests it got are sent to seen, if there is room.
func (s script) serve(t *testing.T, seen chan<- string) string {
	t.Helper()
	return sockettest.Serve(t, func(_ int, c *sockettest.Conn) {
		turn := make(map[string]int)
		c.Answer(func(request string) (string, bool) {
			if request == greets {
				own := append(s[greets], bulk("max_count:65536\r\nlayout:twitter\r\ncluster_id:"+someUUID+"\r\n"))
				return own[0], true
			}
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
	info := func(form string) []string { return []string{bulk("state:ready\r\nform:" + form + "\r\n")} }
	for _, c := range []struct {
		name   string
		daemon script
		args   string
		asked  string
		out    string
	}{
		{"one", script{"RUN": {integers(1, 7, 1)}, "INFO": info("integer")}, "", "INFO,RUN 1", "7\n"},
		{"by a daemon that tells no form", script{"RUN": {integers(1, 7, 1)}, "INFO": {bulk("a:b\r\n")}}, "", "INFO,RUN 1", "7\n"},
		{"in the daemon's form", script{"RUN": {integers(1, 61, 1)}, "INFO": info("base62")}, "", "INFO,RUN 1", "0000000000z\n"},
		{"for a tenant, the flag last", script{"RUN": {integers(1, 7, 1)}}, "1 --as string --tenant 5", "RUN 1 TENANT 5", "7\n"},
		{"in a form", script{"RUN": {integers(1, 60, 1), integers(1, 61, 2)}}, "--as BASE62 3", "RUN 1,RUN 2", "0000000000y\n0000000000z\n00000000010\n"},
		{"as a UUID", script{"RUN": {integers(1, 1541815603606036480, 1)}}, "--as uuid", "RUN 1", tweetUUID + "\n"},
		{"runs as integers", script{"RUN": {integers(256, 100, 1), integers(256, 356, 2)}}, "--run --as integer 3", "RUN 1,RUN 2", "100 1 256\n356 2 256\n"},
		{"runs", script{"RUN": {integers(1, 7, 1), integers(1, 8, 2), integers(1, 100, 3, 8192, 1)}}, "7 --run", "RUN 1,RUN 2,RUN 4", "7 1 1\n8 2 1\n100 3 1\n8192 1 1\n"},
		{"as many at once as the daemon gives", script{greets: {bulk("max_count:2\r\ncluster_id:c\r\n")}, "RUN": {integers(1, 6, 1), integers(1, 7, 2), integers(1, 9, 2), integers(1, 11, 1)}},
			"6 --as integer", "RUN 1,RUN 2,RUN 2,RUN 1", "6\n7\n8\n9\n10\n11\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := make(chan string, 10)
			out, _, err := command(t, "", append([]string{"next", "--socket", c.daemon.serve(t, seen)}, strings.Fields(c.args)...)...)
			var asked []string
			for len(seen) > 0 {
				asked = append(asked, <-seen)
			}
			if got := strings.Join(asked, ","); out != c.out || got != c.asked || err != nil {
				t.Errorf("printed %q and asked %s, %v; want %q and %s", out, got, err, c.out, c.asked)
			}
		})
	}

	t.Run("what came before an error is printed", func(t *testing.T) {
		socket := script{"RUN": {integers(1, 1, 1), integers(1, 2, 2), "-UNAVAILABLE the disk is full\r\n"}}.serve(t, nil)
		out, _, err := command(t, "", "next", "--as", "integer", "--socket", socket, "2500")
		if n := strings.Count(out, "\n"); n != 3 {
			t.Errorf("%d lines printed, want 3", n)
		}
		checkError(t, err, "after 3 of 2500 IDs: asking the daemon at "+socket+": the daemon has no IDs: the disk is full", ExitNotReady)
	})
}

func TestNextRefuses(t *testing.T) {
	const tenant = "-ERR the tenant '9' is not a whole number from 0 to 7\r\n"
	for _, c := range []struct {
		name, reply, args, want string
		code                    int
	}{
		{"no count", "", "many", `the count "many" is not`, ExitUsage},
		{"a count of 0", "", "0", `the count "0" is not`, ExitUsage},
		{"a negative count", "", "-- -4", `the count "-4" is not`, ExitUsage},
		{"no time", "", "--timeout 0s", "--timeout is 0s: give a duration above 0", ExitUsage},
		{"two counts", "", "1 2", `got "2" too`, ExitUsage},
		{"a tenant that is none", "", "--tenant=", "tenant", ExitUsage},
		{"a name for a tenant", "", "--tenant order", `--tenant "order"`, ExitUsage},
		{"a form that is none", "", "--as bas62", "did you mean base62?", ExitUsage},
		{"runs in a form", "", "--run --as uuid", "--run prints integers: leave --as uuid out", ExitUsage},
		{"an error reply", "-UNAVAILABLE the clock is 1h behind\r\n", "--as integer", "the clock is 1h behind", ExitNotReady},
		{"a refusal", tenant, "--as integer --tenant 9", "ERR the tenant '9'", ExitRefused},
		{"another kind of reply", "+OK\r\n", "--as integer", "as no flakeward daemon does", ExitFailed},
		{"runs without runs", integers(1), "--run", "as no flakeward daemon does", ExitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			socket := script{"RUN": {c.reply}}.serve(t, nil)
			out, _, err := command(t, "", append([]string{"next", "--socket", socket}, strings.Fields(c.args)...)...)
			if checkError(t, err, c.want, c.code); out != "" {
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
		{"a Redis server", "# Server\r\nredis_version:7.0.15\r\n", nil, "", "as no flakeward daemon does: its INFO has no max_count", ExitFailed},
		{"a daemon that speaks as Redis does", "# Server\r\nflakeward_version:1\r\nredis_version:7.2.0\r\nstate:ready\r\n", nil, "", "", ExitOK},
		{"the clock behind, but served", cluster + "clock-behind\r\n", nil, "", "", ExitOK},
		{"starting", cluster + "starting\r\n", nil, "", "cannot issue IDs yet: starting", ExitNotReady},
		{"stopped, with the reason", cluster + "stopped\r\ncondition:no space left\r\n", nil, "", "stopped: no space left", ExitNotReady},
		{"silent", "# Server\r\n", nil, "", "does not tell its state", ExitNotReady},
	} {
		t.Run(c.name, func(t *testing.T) {
			daemon := script{"INFO": {bulk(c.info)}}
			if c.name == "a Redis server" {
				daemon[greets] = daemon["INFO"]
			}
			socket := daemon.serve(t, nil)
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
	socket := script{"RUN": {integers(1, 7, 1)}}.serve(t, nil)
	file := filepath.Join(t.TempDir(), "flakeward.yaml")
	must.Do(t, os.WriteFile(file, []byte("ttl: 10s\nsocket: "+socket+"\n"), 0o600))
	if out, _, err := command(t, "", "next", "--as", "string", "--config", file); out != "7\n" || err != nil {
		t.Errorf("with --config: %q, %v", out, err)
	}
	t.Setenv("FLAKEWARD_SOCKET", socket)
	if out, _, err := command(t, "", "next", "--as", "string"); out != "7\n" || err != nil {
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
