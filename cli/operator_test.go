package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// standIn is a stand-in for a coordinator: it tells what it holds, and notes what
// it is asked to do.
type standIn struct {
	coord.Operator // nil: what is not below is not asked for
	inspected      coord.Inspected
	members        []coord.Member
	marks          []coord.Mark
	histories      map[int][]coord.HolderInterval
	fail           func(ctx context.Context, call string) error // may be nil

	mu     sync.Mutex
	calls  []string // all but Close
	config daemon.Config
	open   int
}

func (s *standIn) called(ctx context.Context, format string, args ...any) error {
	call := fmt.Sprintf(format, args...)
	s.mu.Lock()
	s.calls = append(s.calls, call)
	s.mu.Unlock()
	if s.fail != nil {
		return s.fail(ctx, call)
	}
	return nil
}

// count is how often it was asked something.
func (s *standIn) count(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.calls {
		if c == call {
			n++
		}
	}
	return n
}

func (s *standIn) operate(ctx context.Context, config daemon.Config) (coord.Operator, error) {
	if err := s.called(ctx, "operate"); err != nil {
		return nil, err
	}
	s.config = config
	s.open++
	return s, nil
}

func (s *standIn) Inspect(ctx context.Context) (coord.Inspected, error) {
	return s.inspected, s.called(ctx, "inspect")
}

func (s *standIn) Create(ctx context.Context, cluster coord.NewCluster) (coord.Created, error) {
	found := coord.Created{Inspected: s.inspected}
	if s.inspected.UUID == "" {
		found = coord.Created{Inspected: coord.Inspected{Layout: cluster.Text, UUID: clusterUUID, Floor: cluster.Floor, Window: cluster.Window, Range: cluster.Range}, Made: true}
	}
	return found, s.called(ctx, "create %+v", cluster)
}

func (s *standIn) Members(ctx context.Context) ([]coord.Member, error) {
	return s.members, s.called(ctx, "members")
}

func (s *standIn) Marks(ctx context.Context) ([]coord.Mark, error) {
	return s.marks, s.called(ctx, "marks")
}

func (s *standIn) Raise(ctx context.Context, to generator.Tick) (coord.Raised, error) {
	raised := coord.Raised{From: s.inspected.Floor, To: max(s.inspected.Floor, to)}
	for _, m := range s.marks {
		raised.Highest = max(raised.Highest, m.Ceiling)
	}
	return raised, s.called(ctx, "raise %d", to)
}

func (s *standIn) SetWindow(ctx context.Context, window generator.Tick) error {
	return s.called(ctx, "window %d", window)
}

func (s *standIn) TrustClock(ctx context.Context, at generator.Tick) error {
	return s.called(ctx, "trust %d", at)
}

func (s *standIn) Widen(ctx context.Context, to coord.WorkerRange, above generator.Tick) error {
	return s.called(ctx, "widen %v above %d", to, above)
}

func (s *standIn) Clear(ctx context.Context, claim string) error {
	return s.called(ctx, "clear %s", claim)
}

func (s *standIn) History(ctx context.Context, worker int) ([]coord.HolderInterval, error) {
	return s.histories[worker], s.called(ctx, "history %d", worker)
}

func (s *standIn) Close() error {
	s.open--
	return nil
}

const (
	clusterUUID = "a585efdd-18f0-4ac5-b88f-afadbb14c340"
	fullLayout  = "time=41@1ms,worker=10,sequence=12;epoch=2026-01-01T00:00:00Z"
)

// noon is where the stand-in's clock stands, 12 hours after the layout's epoch.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// tickAt is the tick that is d from noon.
func tickAt(d time.Duration) generator.Tick {
	return generator.Tick((12*time.Hour + d) / time.Millisecond)
}

// someCluster has two members, of which one is stopped, and three records.
func someCluster() *standIn {
	return &standIn{
		inspected: coord.Inspected{Layout: fullLayout + ";datacenter=0", UUID: clusterUUID, Window: 600_000, Longest: 600_000},
		members: []coord.Member{
			{Worker: 4, Host: "h1", PID: 11, Incarnation: "1a2b3c4d5e6f", Version: "v1", Claim: "claim-4", Since: noon.Add(-3 * time.Hour),
				Ceiling: tickAt(10 * time.Minute), Issued: tickAt(-2 * time.Second), Opening: "o4"},
			{Worker: 70, Host: "h2", PID: 12, Incarnation: "short", Claim: "claim-70", Ceiling: tickAt(-12 * time.Second), Opening: "o70"},
		},
		marks: []coord.Mark{
			{Worker: 4, Ceiling: tickAt(10 * time.Minute), Issued: tickAt(-2 * time.Second), Holder: "o4", Claim: "claim-4"},
			{Worker: 5, Ceiling: tickAt(-time.Hour), Holder: "o5"},
			{Worker: 70, Ceiling: tickAt(-12 * time.Second), Holder: "o70", Claim: "claim-70"},
		},
		histories: map[int][]coord.HolderInterval{
			4: {
				{From: tickAt(-5 * time.Hour), Host: "h0", Incarnation: "i0", Claim: "claim-0", Opening: "o0", Version: "v0", Since: noon.Add(-5 * time.Hour)},
				{From: tickAt(-3 * time.Hour), Host: "h1", Incarnation: "1a2b3c4d5e6f", Claim: "claim-4", Opening: "o4", Version: "v1"},
			},
		},
	}
}

// ask is a command on a stand-in's cluster.
type ask struct {
	*standIn
	terminal bool
	unsynced bool
	stdin    string
	clock    *clocktest.Manual // noon if nil
}

func (a ask) run(t testing.TB, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	if a.clock == nil {
		a.clock = clocktest.NewManual(noon)
	}
	out := &outside{operate: a.operate, clock: a.clock, terminal: func(any) bool { return a.terminal }, synchronised: func() bool { return !a.unsynced }}
	var printed, complained strings.Builder
	err = newProgram(ownPaths(), out).run(t.Context(), append([]string{"flakeward"}, args...), strings.NewReader(a.stdin), &printed, &complained)
	if a.open != 0 {
		t.Errorf("%q left %d connections open", args, a.open)
	}
	return printed.String(), complained.String(), err
}

// checkError compares an error with a part of its text, and the status with code.
func checkError(t *testing.T, err error, want string, code int) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("the error is %v, want %q in it", err, want)
	}
	if got := ExitCode(err); got != code {
		t.Errorf("the status is %d, want %d", got, code)
	}
}

// operatorCommands are all that ask the coordinator, without arguments that differ.
var operatorCommands = []string{"status --cluster", "cluster marks", "cluster raise --yes", "claims", "claims clear claim-4 --yes", "explain 4398046511104"}

// Given a daemon's socket and no coordinator, the commands ask the daemon's own.
func TestOperatorsAskTheDaemonOfASocketForItsCoordinator(t *testing.T) {
	at := func(coordinator string) string {
		return script{"INFO": {bulk("flakeward_version:1\r\ncoordinator:" + coordinator + "\r\n")}}.serve(t, nil)
	}
	password := filepath.Join(t.TempDir(), "password")
	const asksForUser = "give --coord-user and --coord-password-file"
	for _, c := range []struct {
		name, socket, more string
		coord              string // what is asked
		err                string
		code               int
	}{
		{name: "another coordinator", socket: at("etcd://h1:2379,h2:2379/ids"), coord: "etcd://h1:2379,h2:2379/ids"},
		{name: "dir", socket: at("dir:/of/daemon"), coord: "dir:/of/daemon"},
		{name: "a user, given", socket: at("etcd://***@h1:2379/ids"), more: "--coord-user me --coord-password-file " + password, coord: "etcd://h1:2379/ids"},
		{name: "a user, not given", socket: at("etcd://***@h1:2379/ids"), err: asksForUser, code: ExitUsage},
		{name: "named", socket: at("etcd://h1:2379/ids"), more: "--coord zk://h2:2181/x", coord: "zk://h2:2181/x"},
		{name: "a named directory", socket: at("etcd://h1:2379/ids"), more: "--coord dir:/other", coord: "dir:/other"},
		{name: "nobody there", socket: filepath.Join(t.TempDir(), "s"), err: "which --coord names as well: no daemon at", code: ExitNoDaemon},
		{name: "a Redis server", socket: script{greets: {bulk("redis_version:7\r\n")}}.serve(t, nil), err: "no flakeward daemon", code: ExitFailed},
	} {
		for _, args := range append(operatorCommands, "cluster") {
			t.Run(c.name+"/"+args, func(t *testing.T) {
				s := someCluster()
				_, _, err := (ask{standIn: s}).run(t, append(strings.Fields(args+" --socket "+c.socket), strings.Fields(c.more)...)...)
				if c.err != "" {
					checkError(t, err, c.err, c.code)
					if s.count("operate") > 0 {
						t.Error("a coordinator was opened")
					}
					return
				}
				if err != nil && ExitCode(err) != ExitUnknown {
					t.Error(err)
				}
				if s.config.Cluster.Coord != c.coord {
					t.Errorf("asked %q, want %q", s.config.Cluster.Coord, c.coord)
				}
			})
		}
	}
	s := someCluster()
	_, _, err := (ask{standIn: s}).run(t, "status", "--cluster", "--socket", at("etcd://***@h1:2379/ids"))
	checkError(t, err, asksForUser, ExitUsage)
}

func TestMarksAsATextfile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flakeward.prom")
	for path, code := range map[string]int{file: ExitOK, filepath.Join(file, "below"): ExitFailed} {
		out, _, err := (ask{standIn: someCluster()}).run(t, "cluster", "marks", "--coord", "etcd://h:2379/x", "--textfile", path)
		if out != "" || ExitCode(err) != code {
			t.Errorf("%s: printed %q, %v", path, out, err)
		}
	}
	must.Get(os.Stat(file))(t)
}

func TestOperatorsErrors(t *testing.T) {
	refused := errors.New("connection refused")
	for _, args := range operatorCommands {
		for _, c := range []struct {
			name string
			fail func(context.Context, string) error
			want string
		}{
			{"cannot be opened", func(_ context.Context, call string) error { return on(call, "operate", refused) }, "coordinator etcd://***@h:2379/x: connection refused"},
			{"nothing there", func(_ context.Context, call string) error { return on(call, "inspect", coord.ErrNoCluster) }, coord.ErrNoCluster.Error()},
			{"silent", func(ctx context.Context, call string) error {
				if call == "operate" {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}, "coordinator etcd://***@h:2379/x did not answer within --timeout 20ms"},
			{"away after the inspection", func(_ context.Context, call string) error {
				if call == "operate" || call == "inspect" {
					return nil
				}
				return refused
			}, "coordinator etcd://***@h:2379/x: connection refused"},
		} {
			t.Run(args+", "+c.name, func(t *testing.T) {
				s := someCluster()
				s.fail = c.fail
				out, _, err := ask{standIn: s}.run(t, append(strings.Fields(args), "--coord", "etcd://u:geheim@h/x", "--timeout", "20ms")...)
				checkError(t, err, c.want, ExitFailed)
				if out != "" || strings.Contains(fmt.Sprint(err), "geheim") {
					t.Errorf("printed %q, the error is %v", out, err)
				}
			})
		}
	}
	t.Run("a layout of another version", func(t *testing.T) {
		s := someCluster()
		s.inspected.Layout = "time=41@1ms,wheel=22;datacenter=0"
		_, _, err := ask{standIn: s}.run(t, "status", "--cluster")
		checkError(t, err, "is not understood here", ExitFailed)
	})
}

func on(call, which string, err error) error {
	if call == which {
		return err
	}
	return nil
}

// What each command prints; package cluster has the cases.
func TestTablesOfTheCluster(t *testing.T) {
	const head, of = "cluster " + clusterUUID + ": ", " of 1024 worker IDs, layout " + fullLayout + "\n"
	for args, want := range map[string]string{
		"status --cluster": head + "2 members" + of + `
worker  host  incarnation  claimed   ceiling  issued    version  state
4       h1    1a2b3c4d     3h0m ago  +10m0s   2.0s ago  v1       granted
70      h2    short        -         -12s     -         -        stopped
`,
		"cluster marks": head + "3 records" + of + `worker IDs: 2 held, 0 resting, 1022 free; if all hosts lost power now, nobody would wait

worker  ceiling                           issued    held by
4       2026-01-01T12:10:00.000Z  +10m0s  2.0s ago  h1, claim-4
5       2026-01-01T11:00:00.000Z  -1h0m   -         free
70      2026-01-01T11:59:48.000Z  -12s    -         h2, claim-70
`,
		"claims": head + "2 claims" + of + `
worker  host  process  claimed   issued    state    claim
4       h1    11       3h0m ago  2.0s ago  granted  claim-4
70      h2    12       -         -         stopped  claim-70
`,
		"status --cluster --json": `"members":[{"worker":4,`,
		"cluster marks --json":    `"marks":[{"worker":4,`,
		"claims --json":           `"claims":[{"worker":4,`,
	} {
		out, _, err := ask{standIn: someCluster()}.run(t, strings.Fields(args)...)
		checkError(t, err, "", ExitOK)
		if isJSON := strings.HasSuffix(args, "--json"); !isJSON && out != want || isJSON && (!strings.Contains(out, want) || strings.Count(out, "\n") != 1) {
			t.Errorf("%s printed\n%s\nwant\n%s", args, out, want)
		}
	}
}
