package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/layouts"
	"github.com/flakeward/flakeward/internal/must"
)

// tweet is an ID that was published: 2022-06-28T16:07:40.105Z, machine 378, sequence 0.
const tweet = "1541815603606036480"

// tweet in other forms, in the cluster of someUUID.
var (
	someUUID  = "6f1c1a52-0b67-4b8e-9d6a-3c2f4e5d7a81"
	tweetUUID = tweetAs(form.UUID)
)

func tweetAs(f form.Form) string {
	layout, err := generator.ParseLayout("twitter")
	if err != nil {
		panic(err)
	}
	return string(form.New(layout, someUUID).Append(nil, f, 1541815603606036480))
}

func TestDecode(t *testing.T) {
	const head = "id                   time                      datacenter  worker  sequence  base62\n"
	const plain = "1541815603606036480  2022-06-28T16:07:40.105Z          11      26         0  1ptWyK4WgZU"
	const row = plain + "  may be rounded\n"
	const object = `{"id":"1541815603606036480","time":"2022-06-28T16:07:40.105Z","tick":367597485448,"datacenter":11,"worker":26,"sequence":0,"base62":"1ptWyK4WgZU","may_be_rounded":true}` + "\n"
	headUUID, plainUUID := strings.TrimSuffix(head, "\n")+"       uuid\n", plain+"  "+tweetUUID
	byTwitter := script{"INFO": {bulk("# Cluster\r\nlayout:twitter\r\n")}}
	for _, c := range []struct {
		name   string
		daemon script
		stdin  string
		args   []string
		out    string
		err    []string
		failed bool
	}{
		{name: "offline", args: []string{"--layout", "twitter", tweet}, out: head + row},
		{name: "flags last", args: []string{tweet, "--layout", "twitter", "--json"}, out: object},
		{name: "several", args: []string{"--layout", "twitter", tweet, tweet}, out: head + row + row},
		{name: "by the daemon's layout", daemon: byTwitter, args: []string{tweet}, out: head + row},
		{name: "the flag wins over the daemon's", daemon: script{"INFO": {bulk("layout:js53\r\n")}}, args: []string{"--layout", "twitter", tweet}, out: head + row},
		{
			name: "without a daemon, and told so", args: []string{"1"},
			out: "id                   time                      worker  sequence  base62\n" + "1                    2026-01-01T00:00:00.000Z       0         1  00000000001\n",
			err: []string{"there is no such socket", "default layout, flakeward"},
		},
		{name: "standard input", stdin: tweet + "\n" + tweet + " " + tweet, args: []string{"--layout", "twitter", "-"}, out: head + row + row + row},
		{
			name: "a wrong one keeps no other from being decoded", stdin: tweet + "\nx\n-5\n" + tweet, args: []string{"--layout", "twitter", "-"},
			out: head + row + row, failed: true,
			err: []string{`word 2 of standard input: "x" is not an ID`, "word 3 of standard input: \"-5\" is not an ID: it is negative"},
		},
		{
			name: "some may be rounded", args: []string{"--layout", "twitter", tweet, "1541815603606036481", "1541815603606036500"},
			out: head + row + "1541815603606036481  2022-06-28T16:07:40.105Z          11      26         1  1ptWyK4WgZV\n" +
				"1541815603606036500  2022-06-28T16:07:40.105Z          11      26        20  1ptWyK4WgZo  may be rounded\n",
			err: []string{"flakeward: 2 of 3 IDs may be rounded: the digits are those of a floating-point number"},
		},
		{name: "of a form", args: []string{"--layout", "twitter", "--as", "base62", "1ptWyK4WgZU"}, out: head + plain + "\n"},
		{name: "of a form, and it is of another", args: []string{"--layout", "twitter", "--as", "base62", tweet}, failed: true, err: []string{"it may be string: give --as string"}},
		{name: "of no form that is said", args: []string{"--layout", "twitter", "1ptWyK4WgZU"}, failed: true, err: []string{"it may be base62: give --as base62"}},
		{name: "a UUID", daemon: script{"INFO": {bulk("layout:twitter\r\ncluster_id:" + someUUID + "\r\n")}}, args: []string{tweetUUID}, out: headUUID + plainUUID + "\n"},
		{name: "in JSON with a UUID", args: []string{"--layout", "twitter", "--cluster-uuid", someUUID, "--json", "1541815603606036481"},
			out: strings.NewReplacer("480", "481", `"sequence":0`, `"sequence":1`, "gZU", "gZV", `"may_be_rounded":true`, `"uuid":"`+tweetUUID[:35]+`1"`).Replace(object)},
		{name: "a UUID without its cluster", args: []string{"--layout", "twitter", tweetUUID}, failed: true, err: []string{"needs the cluster's UUID", "leave --layout out"}},
		{name: "a UUID of a cluster that is named", args: []string{"--layout", "twitter", "--cluster-uuid", strings.ToUpper(someUUID), tweetUUID}, out: headUUID + plainUUID + "\n"},
		{name: "a UUID of a cluster that was", daemon: script{"INFO": {bulk("layout:twitter\r\ncluster_id:0c9e6d1e-7a3f-4d9b-8f55-3f1f1d2f4a11\r\n")}}, args: []string{"--cluster-uuid", someUUID, tweetUUID}, out: headUUID + plainUUID + "\n"},
		{name: "a cluster that is none", args: []string{"--layout", "twitter", "--cluster-uuid", "production", tweetUUID}, failed: true},
		{name: "too wide for the layout", args: []string{"--layout", "js53", tweet}, failed: true, err: []string{"too large for layout"}},
		{name: "an endless word", stdin: strings.Repeat("1", 2*maxWord), args: []string{"--layout", "twitter", "-"}, failed: true},
		{name: "a daemon that does not tell", daemon: script{"INFO": {bulk("a:b\r\n")}}, args: []string{tweet}, failed: true},
		{name: "a daemon of another kind", daemon: script{"INFO": {bulk("layout:x=9\r\n")}}, args: []string{tweet}, failed: true},
		{name: "a daemon that refuses", daemon: script{}, args: []string{tweet}, failed: true},
		{name: "nothing", failed: true},
		{name: "no layout", args: []string{"--layout", "tvitter", tweet}, failed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			socket := t.TempDir() + "/missing"
			if c.daemon != nil {
				socket = c.daemon.serve(t, nil)
			}
			out, errOut, err := command(t, c.stdin, append([]string{"decode", "--socket", socket}, c.args...)...)
			if out != c.out {
				t.Errorf("printed %q, want %q", out, c.out)
			}
			if (err != nil) != c.failed {
				t.Errorf("the error is %v", err)
			}
			for _, want := range c.err {
				if !strings.Contains(errOut, want) {
					t.Errorf("complained %q, want %q in it", errOut, want)
				}
			}
		})
	}
}

func TestLayoutExplains(t *testing.T) {
	layout := must.Get(generator.ParseLayout("sonyflake"))(t)
	var out strings.Builder
	must.Do(t, showFacts(&out, layouts.Of(layout, time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC))))
	const want = `time=39@10ms,sequence=8,worker=16;epoch=2014-09-01T00:00:00Z

     field  bits  shift       highest
      time    39     24  549755813887
  sequence     8     16           255
    worker    16      0         65535

bits        63, to be kept as strings in JavaScript
tick        10ms
IDs         25,600 a second and worker ID (256 a tick), 1,677,721,600 with all worker IDs
worker IDs  65,536
begins      2014-09-01T00:00:00Z
ends        2188-11-16T03:28:58.88Z, 162.0 years from now
order       by time
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

func TestLayoutCommand(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want []string
		err  string
	}{
		{"the default", nil, []string{"time=41@1ms,worker=10,sequence=12;epoch=2026-01-01T00:00:00Z\n"}, ""},
		{"an argument", []string{"js53"}, []string{"bits        53, safe as numbers in JavaScript"}, ""},
		{"the flag", []string{"--layout", "js53"}, []string{"bits        53"}, ""},
		{"one that has ended", []string{"uidgenerator"}, []string{"issues      no: layout ", "2024-11-20", "years ago"}, ""},
		{"one that does not sort", []string{"worker=10,time=41@1ms,sequence=12;epoch=2026-01-01"}, []string{"order       not by time"}, ""},
		{"the shifts in JSON", []string{"--json", "twitter"}, []string{`{"field":"worker","bits":5,"shift":12,"highest":31}`, `"sorts_by_time":true`}, ""},
		{"the list", []string{"--list"}, []string{"preset ", "\ntwitter ", "\njs53 "}, ""},
		{"the list in JSON", []string{"--list", "--json"}, []string{`"name":"twitter"`}, ""},
		{"nonsense", []string{"nonsense"}, nil, "there are discord"},
		{"a misspelt preset", []string{"tvitter"}, nil, `did you mean "twitter"?`},
		{"a misspelt field", []string{"time=41@1ms,wroker=10,sequence=12;epoch=2026-01-01"}, nil, `did you mean "worker"?`},
		{"spaces", []string{" time = 41 @ 1ms, worker=10 , sequence=12 ; epoch = 2026-01-01 "}, []string{"time=41@1ms,worker=10,sequence=12;epoch=2026-01-01T00:00:00Z\n"}, ""},
		{"two", []string{"twitter", "epoch=2026-01-01"}, nil, "put quotes"},
		{"the list and more", []string{"--list", "twitter"}, nil, "takes no arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _, err := command(t, "", append([]string{"layout"}, c.args...)...)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in\n%s", want, out)
				}
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || ExitCode(err) != ExitUsage) {
				t.Errorf("the error is %v, want %q in it and status %d", err, c.err, ExitUsage)
			}
		})
	}
}

func TestFlagsFirst(t *testing.T) {
	commands := newProgram(paths{}, realOutside(nil)).app.Commands
	for _, c := range []struct{ given, want string }{
		{"f", "f"},
		{"f next 5", "f next 5"},
		{"f next 5 --run", "f next --run 5"},
		{"f next 5 --tenant 3 --run", "f next --tenant 3 --run 5"},
		{"f next 5 --tenant=3", "f next --tenant=3 5"},
		{"f next 5 --tenant", "f next 5 --tenant"}, // 5 is no tenant
		{"f decode - --json", "f decode --json -"},
		{"f decode --json -- -5 --layout", "f decode --json -- -5 --layout"},
		{"f decode 5 -- -6 --json", "f decode 5 -- -6 --json"},
		{"f other 5 --run", "f other 5 --run"},
		{"f cluster --coord x raise --yes", "f cluster raise --coord x --yes"},
		{"f cluster --coord raise", "f cluster --coord raise"}, // the value of --coord
		{"f cluster --timeout 1s raise", "f cluster raise --timeout 1s"},
		{"f cluster raise --to now raise", "f cluster raise --to now raise"},
		{"f claims --yes clear x --timeout 1s", "f claims clear --yes --timeout 1s x"},
		{"f claims -- clear --yes", "f claims -- clear --yes"},
	} {
		if got := strings.Join(flagsFirst(commands, strings.Fields(c.given)), " "); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.given, got, c.want)
		}
	}
}

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		args []string
		out  string // part of it
		err  string // part of it
	}{
		{nil, "COMMANDS:", ""},
		{[]string{"--help"}, "COMMANDS:", ""},
		{[]string{"--version"}, "flakeward version ", ""},
		{[]string{"version"}, "flakeward " + Version() + " (go", ""},
		{[]string{"version", "now"}, "", "takes no arguments"},
		{[]string{"next", "--help"}, "--tenant", ""},
		{[]string{"nxet"}, "", `there is no command "nxet": see`},
		{[]string{"stauts"}, "", `did you mean "status"?`},
		{[]string{"status", "--nosuch"}, "", "see flakeward status --help"},
		{[]string{"--nosuch"}, "", "see flakeward --help"},
		{[]string{"cluster", "rise"}, "", `there is no cluster command "rise": did you mean "raise"?`},
		{[]string{"cluster", "raise", "--nosuch"}, "", "see flakeward cluster raise --help"},
		{[]string{"cluster", "raise", "now"}, "", `cluster raise takes no arguments, but got "now"`},
		{[]string{"cluster", "raise", "--to", "2026-12-01", "--begin", "1h"}, "", "give one of them"},
		{[]string{"claims", "cleer"}, "", `did you mean "clear"?`},
		{[]string{"claims", "clear"}, "", "the name of one claim: see flakeward claims"},
		{[]string{"claims", "clear", "a", "b"}, "", "the name of one claim"},
		{[]string{"explain"}, "", "at least one ID"},
		{[]string{"status", "--cluster", "--coord", "nowhere"}, "", "--coord: the coordinator's URL has no scheme"},
		{[]string{"cluster", "--help"}, "raise", ""},
		{[]string{"cluster", "raise", "--help"}, "--force", ""},
		{[]string{"claims", "clear", "--help"}, "clear [command options] CLAIM", ""},
		{[]string{"help"}, "COMMANDS:", ""},
		{[]string{"help", "next"}, "flakeward next - ", ""},
		{[]string{"help", "cluster", "raise"}, "flakeward cluster raise - ", ""},
		{[]string{"help", "stauts"}, "", `did you mean "status"?`},
		{[]string{"help", "cluster", "rise"}, "", `there is no cluster command "rise": did you mean "raise"?`},
		{[]string{"help", "next", "now"}, "", `there is no next command "now": see flakeward next --help`},
		{[]string{"check", "now"}, "", `check takes no arguments, but got "now"`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			out, _, err := command(t, "", c.args...)
			if !strings.Contains(out, c.out) {
				t.Errorf("%q is missing in\n%s", c.out, out)
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err) || ExitCode(err) != ExitUsage) {
				t.Errorf("the error is %v, want %q in it and status %d", err, c.err, ExitUsage)
			}
		})
	}
}

// The script of the packages, in a bash, asks this program.
func TestCompletion(t *testing.T) {
	program := filepath.Join(t.TempDir(), "flakeward")
	must.Do(t, os.Symlink(must.Get(os.Executable())(t), program))
	for _, c := range []struct{ typed, want string }{
		{"d", "daemon decode"},
		{"--", "--help --version"},
		{"next --", "--socket --timeout --tenant --as --run --config --help"},
		{"next 5 --t", "--timeout --tenant"},
		{"next ", ""},
		{"next --run --so", "--socket"},
		{"daemon --socket-", "--socket-mode --socket-group"},
		{"daemon --socket ", ""}, // its value
		{"cluster --coord dir: r", "raise"},
		{"cluster raise --f", "--force"},
		{"claims clear -- ", ""},
	} {
		script := `. ../deploy/packages/flakeward.bash; COMP_CWORD=$#; COMP_WORDS=("$0" "$@"); _flakeward; echo "${COMPREPLY[*]}"`
		out, err := exec.Command("bash", append([]string{"-c", script, program}, strings.Split(c.typed, " ")...)...).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
			t.Errorf("%q offers %q (%v), want %q", c.typed, got, err, c.want)
		}
	}
}

func TestVersionNamesTheReleaseAndTheCommit(t *testing.T) {
	build := func(module string, settings ...string) *debug.BuildInfo {
		b := &debug.BuildInfo{Main: debug.Module{Version: module}}
		for pair := range slices.Chunk(settings, 2) {
			b.Settings = append(b.Settings, debug.BuildSetting{Key: pair[0], Value: pair[1]})
		}
		return b
	}
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		linked string
		build  *debug.BuildInfo
		want   string
	}{
		{"v9", build("v1.2.3", "vcs.revision", commit), "v9"},
		{"", build("v1.2.3"), "1.2.3"},
		{"", build("v0.0.0-20261122112000-0123456789ab", "vcs.revision", commit), "0.1.0+0123456789ab"},
		{"", build("(devel)", "vcs.revision", commit), "0.1.0+0123456789ab"},
		{"", build("", "vcs.revision", commit, "vcs.modified", "true"), "0.1.0+0123456789ab.modified"},
		{"", build("(devel)"), "0.1.0"},
		{"", nil, "0.1.0"},
	} {
		if got := versionOf(c.linked, c.build); got != c.want {
			t.Errorf("versionOf(%q, %v) = %q, want %q", c.linked, c.build, got, c.want)
		}
	}
}

func TestChangelogHasTheRelease(t *testing.T) {
	changelog := must.Get(os.ReadFile("../CHANGELOG.md"))(t)
	if heading := "\n## [" + release + "]"; !strings.Contains(string(changelog), heading) {
		t.Errorf("CHANGELOG.md has no section %q: write it, or correct release in version.go", strings.TrimSpace(heading))
	}
}
