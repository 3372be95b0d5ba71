package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		out  string
		err  string
	}{
		// 41-12-10 bits: 2026-01-01 is 1767225600000 ms after 1970.
		{"a day, without the next", []string{"--layout", "redis", "--from", "2026-01-01", "--to", "2026-01-02T00:00:00Z"},
			"from   7412281402982400000  2026-01-01T00:00:00.000Z\nbelow  7412643790848000000  2026-01-02T00:00:00.000Z\n\n" +
				"id >= 7412281402982400000 AND id < 7412643790848000000\n", ""},
		{"a zone", []string{"--layout", "redis", "--from", "2026-01-01T01:00:00+01:00", "--to", "2026-01-01T00:00:00.001", "--json"},
			fmt.Sprintf(`{"from":"%d","below":"%d","from_time":"2026-01-01T00:00:00.000Z","below_time":"2026-01-01T00:00:00.001Z"}`+"\n",
				int64(1767225600000)<<22, int64(1767225600001)<<22), ""},
		{"texts are quoted", []string{"--layout", "flakeward", "--from", "2026-01-01", "--to", "2026-01-01T00:00:00.001", "--as", "base62"},
			"from   00000000000  2026-01-01T00:00:00.000Z\nbelow  0000000Hb84  2026-01-01T00:00:00.001Z\n\nid >= '00000000000' AND id < '0000000Hb84'\n", ""},
		{"less than a tick", []string{"--layout", "flakeward", "--from", "2026-01-01T00:00:00.0001", "--to", "2026-01-01T00:00:00.0009"},
			"from   4194304  2026-01-01T00:00:00.001Z\nbelow  4194304  2026-01-01T00:00:00.001Z\n\nid >= 4194304 AND id < 4194304\n", ""},
		{"an end that is the start", []string{"--from", "2026-05-02", "--to", "2026-05-02"}, "", "its end is not part of it"},
		{"time is not the highest field", []string{"--layout", "worker=5,time=41@1ms,sequence=12;epoch=2026-01-01", "--from", "-1h"}, "", "do not sort by time"},
		{"the wrong way round", []string{"--from", "2026-05-02", "--to", "2026-05-01"}, "", "swap them"},
		{"no start", []string{"--to", "2026-05-01"}, "", "--from is missing"},
		{"no end", []string{"--from", "2026-05-01", "--to", ""}, "", "--to is missing"},
		{"no span of days", []string{"--from", "-1w", "--to", "now"}, "", `--from: "-1w" is not a time`},
		{"no time", []string{"--from", "yesterday", "--to", "now"}, "", `--from: "yesterday" is not a time`},
		{"before the epoch", []string{"--from", "1999-01-01", "--to", "1999-01-02"}, "", "not after the epoch"},
		{"an argument", []string{"2026-05-01"}, "", "takes no arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, said, err := command(t, "", append([]string{"bounds", "--socket", t.TempDir() + "/missing"}, c.args...)...)
			if strings.Contains(said, "within a tick of 1ms") != (c.name == "less than a tick") {
				t.Errorf("said %q", said)
			}
			if out != c.out {
				t.Errorf("printed %q, want %q", out, c.out)
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || ExitCode(err) != ExitUsage) {
				t.Errorf("the error is %v, want %q in it and status %d", err, c.err, ExitUsage)
			}
		})
	}
}

// No UUID stands for an end above the layout's highest ID. Numbers of 53 bits have one above them.
func TestBoundsAfterTheLastTickHaveNoUUID(t *testing.T) {
	socket := script{"INFO": {bulk("layout:js53\r\ncluster_id:" + someUUID + "\r\n")}}.serve(t, nil)
	for as, want := range map[string]string{"integer": "AND id < 9007199254740992\n", "uuid": ""} {
		out, _, err := command(t, "", "bounds", "--socket", socket, "--from", "2113-02-01", "--to", "2113-03-01", "--as", as)
		if want != "" {
			if err != nil || !strings.HasSuffix(out, want) {
				t.Errorf("%s: %q, %v; want %q", as, out, err, want)
			}
		} else if out != "" || ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), "take an end up to 2113-02-08T13:44:29.43Z, or id >= '041b4fdb-4c00-7") {
			t.Errorf("%s: %q, %v", as, out, err)
		}
	}
}

// A span that is given by times relative to now is as long as it says, also where the command takes
// long.
func TestBoundsTakeRelativeTimes(t *testing.T) {
	for _, c := range []struct {
		args []string
		ms   int64
	}{
		{[]string{"--from", "-1h"}, 3_600_000},
		{[]string{"--from=-7d", "--to=-6d"}, 86_400_000},
		{[]string{"--from", "now", "--to", "+90s"}, 90_000},
	} {
		out, _, err := command(t, "", append([]string{"bounds", "--layout", "flakeward", "--json"}, c.args...)...)
		must.Do(t, err)
		var b struct{ From, Below int64 }
		if _, err := fmt.Sscanf(strings.NewReplacer(`"`, "", ",", " ").Replace(out), "{from:%d below:%d", &b.From, &b.Below); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if got := (b.Below - b.From) >> 22; got != c.ms {
			t.Errorf("%q: a span of %d ms, want %d", c.args, got, c.ms)
		}
	}
}
