package postgres_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/postgres"
	"github.com/flakeward/flakeward/generator"
)

// session is a connection to PostgreSQL.
type session struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

func connect(t *testing.T, c *postgres.Cluster) *session {
	t.Helper()
	psql := c.PSQL(t.Context())
	in, err := psql.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := psql.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	psql.Stderr = t.Output()
	if err := psql.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = psql.Wait() })
	return &session{t, in, bufio.NewReader(out)}
}

// run executes statements and returns the rows, a line each.
func (s *session) run(sql string) (rows []string) {
	s.t.Helper()
	const end = "-- end --"
	if _, err := fmt.Fprintf(s.in, "%s;\n\\echo '%s'\n", sql, end); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%s: %v", sql, err)
		}
		if line = strings.TrimSuffix(line, "\n"); line == end {
			return rows
		}
		rows = append(rows, line)
	}
}

// poller reads new rows again and again, each time from where it stopped.
type poller struct {
	name   string
	sql    string // with what poll puts into it
	lag    time.Duration
	misses bool

	session *session
	id, xid int64 // the last
	read    map[int64]int
}

// poll reads what is new at that time.
func (p *poller) poll(layout *generator.Layout, now time.Time) {
	below, err := layout.Compose(generator.Parts{Tick: layout.TickAt(now.Add(-p.lag).UnixNano())})
	if err != nil {
		p.session.t.Fatal(err)
	}
	for _, row := range p.session.run(strings.NewReplacer("$ID", strconv.FormatInt(p.id, 10), "$XID", strconv.FormatInt(p.xid, 10), "$BELOW", strconv.FormatInt(below, 10)).Replace(p.sql)) {
		id, xid, _ := strings.Cut(row, "|")
		p.id, _ = strconv.ParseInt(id, 10, 64)
		p.xid, _ = strconv.ParseInt(xid, 10, 64)
		p.read[p.id]++
	}
}

const (
	written = 1000                  // rows
	writers = 8                     // half of them of each host
	apart   = 20 * time.Millisecond // the hosts' clocks
	step    = time.Millisecond      // between two statements
	short   = 10                    // statements of others that most transactions stay open for, at most
	long    = 1000                  // and one of twenty, at most
)

// TestAReaderThatPollsByID: what the page says of readers that remember the last ID is so, with its
// number. The writers' IDs are those of two hosts, and the order of all statements comes from a seed.
func TestAReaderThatPollsByID(t *testing.T) {
	c := postgres.Start(t)
	layout, err := generator.ParseLayout(generator.DefaultLayout)
	if err != nil {
		t.Fatal(err)
	}
	blocks := examples(t, "Readers that poll")
	query(t, c, "ALTER SYSTEM SET autovacuum = off") // its transactions hold up a reader, as all do
	query(t, c, "SELECT pg_reload_conf()")
	query(t, c, example(t, blocks, "CREATE TABLE inbox"))
	naive := example(t, blocks, "SELECT id FROM inbox")
	settled := example(t, blocks, "SELECT id, written FROM inbox")
	lagging := strings.ReplaceAll(example(t, blocks, "SELECT id FROM inbox WHERE id > $1 AND"), "$2", "$BELOW")
	readers := []*poller{
		{name: "by the last ID", sql: naive, misses: true},
		{name: "by the last transaction", sql: settled},
		{name: "by the last ID, behind the longest transaction", sql: lagging, lag: long*step + apart},
		{name: "by the last ID, a little behind", sql: lagging, lag: 2 * short * step, misses: true},
	}
	for _, r := range readers {
		r.sql = strings.NewReplacer("($1, $2)", "('$XID', $ID)", "$1", "$ID").Replace(strings.TrimSuffix(r.sql, ";"))
		r.session, r.read = connect(t, c), map[int64]int{}
	}
	poll := func(now time.Time) {
		for _, r := range readers {
			r.poll(layout, now)
		}
	}
	all := write(t, c, layout, poll)
	for _, r := range readers {
		missed := 0
		for _, id := range all {
			switch r.read[id] {
			case 0:
				missed++
			case 1:
			default:
				t.Errorf("%s: %d is read %d times", r.name, id, r.read[id])
			}
		}
		t.Logf("%s: %d of %d rows are missed", r.name, missed, len(all))
		if (missed > 0) != r.misses {
			t.Errorf("%s: %d of %d rows are missed", r.name, missed, len(all))
		}
		if row := fmt.Sprintf("| %s | %d |", r.name, missed); !strings.Contains(section(t, "Readers that poll"), row) {
			t.Errorf("the page does not say %q", row)
		}
	}
}

// write has the writers insert their rows, with a poll after every other statement, and returns the
// IDs.
func write(t *testing.T, c *postgres.Cluster, layout *generator.Layout, poll func(time.Time)) (all []int64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(33, 3))
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	var (
		sessions [writers]*session
		ends     [writers]int // the statement at which the transaction ends; 0: none is open
		sequence [2]uint64
	)
	for w := range sessions {
		sessions[w] = connect(t, c)
	}
	begin := func(w, at int) {
		host := w % 2
		clock := now.Add(time.Duration(host) * apart)
		sequence[host]++
		id, err := layout.Compose(generator.Parts{Tick: layout.TickAt(clock.UnixNano()), Worker: uint64(host), Sequence: sequence[host] % 4096})
		if err != nil {
			t.Fatal(err)
		}
		sessions[w].run(fmt.Sprintf("BEGIN; INSERT INTO inbox (id, what) VALUES (%d, 'x')", id))
		all = append(all, id)
		open := short
		if rng.IntN(20) == 0 {
			open = long
		}
		ends[w] = at + 1 + rng.IntN(open)
	}
	for at := 1; ; at++ {
		w, free, open := -1, -1, false
		for i, end := range ends {
			switch {
			case end == 0:
				free = i
			case end <= at:
				w, open = i, true
			default:
				open = true
			}
		}
		switch {
		case w >= 0:
			sessions[w].run("COMMIT")
			ends[w] = 0
		case free >= 0 && len(all) < written:
			begin(free, at)
		case !open:
			poll(now.Add(long*step + 2*apart))
			return all
		}
		if at%2 == 0 {
			poll(now)
		}
		now = now.Add(step)
	}
}

// TestTheViewHasTheBoundsOfTheLayout: what the page computes in SQL is what Bounds computes, and the
// plan is a range of the primary key.
func TestTheViewHasTheBoundsOfTheLayout(t *testing.T) {
	c := postgres.Start(t)
	layout, err := generator.ParseLayout(generator.DefaultLayout)
	if err != nil {
		t.Fatal(err)
	}
	blocks := examples(t, "Readers that poll")
	view := example(t, blocks, "CREATE VIEW")
	query(t, c, example(t, blocks, "CREATE TABLE inbox"))
	query(t, c, view)
	_, below, _ := strings.Cut(view, "id < ")
	below = strings.TrimSuffix(below, ";")
	rows := query(t, c, "SELECT floor(extract(epoch FROM now()) * 1000)::bigint, "+below)
	milliseconds, got, _ := strings.Cut(rows[0], "|")
	at, err := strconv.ParseInt(milliseconds, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	from := time.UnixMilli(at).Add(-time.Minute)
	want, _, err := layout.Bounds(from, from.Add(time.Hour))
	if err != nil || got != strconv.FormatInt(want, 10) {
		t.Errorf("the view's bound is %s, and that of the layout %d (%v)", got, want, err)
	}
	query(t, c, "INSERT INTO inbox SELECT i, 'x' FROM generate_series(1, 20000) i")
	query(t, c, "ANALYZE inbox")
	if got := strings.Join(query(t, c, "EXPLAIN SELECT id FROM inbox_settled WHERE id > 19990 ORDER BY id"), "\n"); !strings.Contains(got, "inbox_pkey") {
		t.Errorf("the plan is\n%s", got)
	}
}
