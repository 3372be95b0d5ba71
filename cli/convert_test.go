package cli

import (
	"strings"
	"testing"
)

func TestConvert(t *testing.T) {
	byTwitter := script{"INFO": {bulk("# Cluster\r\nlayout:twitter\r\ncluster_id:" + someUUID + "\r\n")}}
	const base62 = "1ptWyK4WgZU" // of tweet
	for _, c := range []struct {
		name   string
		daemon script
		stdin  string
		args   []string
		out    string
		err    string // part of what is complained
		fails  string // part of the error
		exit   int
	}{
		{name: "to a UUID", daemon: byTwitter, args: []string{"--to", "uuid", tweet}, out: tweetUUID + "\n", err: "1 of 1 IDs may be rounded"},
		{name: "from a UUID", daemon: byTwitter, args: []string{tweetUUID, "--to", "integer"}, out: tweet + "\n"},
		{name: "from a UUID that is said to be one", daemon: byTwitter, args: []string{"--from", "uuid", "--to", "base62", tweetUUID}, out: base62 + "\n"},
		{name: "between UUIDs", daemon: byTwitter, args: []string{"--to", "uuid", tweetUUID}, out: tweetUUID + "\n"},
		{name: "of a cluster that is named", args: []string{"--to", "uuid", "--layout", "twitter", "--cluster-uuid", someUUID, "1541815603606036481"}, out: tweetUUID[:35] + "1\n"},
		{name: "without a daemon", args: []string{"--to", "base62", "1541815603606036481", "0"}, out: "1ptWyK4WgZV\n00000000000\n"},
		{name: "back", args: []string{"--from", "base62", "--to", "string", base62}, out: tweet + "\n"},
		{name: "by the flag of decode", args: []string{"--as", "base62", "--to", "integer", base62}, out: tweet + "\n"},
		{name: "the same form", args: []string{"--to", "integer", "7"}, out: "7\n"},
		{name: "standard input", daemon: byTwitter, stdin: "7\n" + tweetUUID + " 8\n", args: []string{"--to", "base62", "5", "-", "6"}, out: "00000000005\n00000000007\n" + base62 + "\n00000000008\n00000000006\n"},
		{name: "a wrong one keeps no other from being converted", stdin: "5 x -1 6", args: []string{"--to", "base62", "-"}, out: "00000000005\n00000000006\n",
			err: `word 2 of standard input: "x" is not an ID`, exit: ExitFailed},
		{name: "of another form than is said", args: []string{"--from", "base62", "--to", "integer", tweet}, err: "it may be string: give --from string", exit: ExitFailed},
		{name: "a UUID of another cluster", daemon: byTwitter, args: []string{"--to", "integer", tweetUUID[:20] + "0" + tweetUUID[21:]}, err: "is no ID of the form uuid", exit: ExitFailed},
		{name: "a UUID of a cluster that nobody tells", args: []string{"--to", "integer", tweetUUID}, err: "default layout", exit: ExitFailed},
		{name: "to a UUID of a cluster that nobody tells", args: []string{"--to", "uuid", "--layout", "twitter", "5"}, fails: "--to uuid: the form uuid needs the cluster's UUID", exit: ExitFailed},
		{name: "from a UUID of a cluster that nobody tells", args: []string{"--as", "uuid", "--to", "integer", "--layout", "twitter", tweetUUID}, fails: "--from uuid: the form uuid needs the cluster's UUID", exit: ExitUsage},
		{name: "to a form that the layout has not", args: []string{"--to", "uuid", "--layout", "time=41@1ms,worker=5,sequence=5;epoch=1969-12-31", "5"}, fails: "--to uuid: there is no form uuid here", exit: ExitFailed},
		{name: "of a form that is not said", args: []string{"--to", "integer", base62}, err: "it may be base62: give --from base62", exit: ExitFailed},
		{name: "a daemon that does not tell", daemon: script{"INFO": {bulk("a:b\r\n")}}, args: []string{"--to", "uuid", "5"}, exit: ExitFailed},
		{name: "to no form", args: []string{tweet}, exit: ExitUsage},
		{name: "to a form that there is not", args: []string{"--to", "base64", tweet}, exit: ExitUsage},
		{name: "nothing", args: []string{"--to", "uuid"}, exit: ExitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			socket := t.TempDir() + "/missing"
			if c.daemon != nil {
				socket = c.daemon.serve(t, nil)
			}
			out, complaint, err := command(t, c.stdin, append([]string{"convert", "--socket", socket}, c.args...)...)
			if out != c.out || ExitCode(err) != c.exit {
				t.Errorf("printed %q and ended with %d (%v), want %q and %d", out, ExitCode(err), err, c.out, c.exit)
			}
			if c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("the error is %v, want %q in it", err, c.fails)
			}
			if !strings.Contains(complaint, c.err) || c.err == "" && complaint != "" {
				t.Errorf("complained %q, want %q in it", complaint, c.err)
			}
		})
	}
}
