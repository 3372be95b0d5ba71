package postgres_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/cli"
	"github.com/flakeward/flakeward/e2e/bench/postgres"
	"github.com/flakeward/flakeward/generator"
)

// section is the text of a section of docs/databases.md.
func section(t *testing.T, name string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/databases.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "\n## "+name+"\n")
	if !found {
		t.Fatalf("docs/databases.md has no section %s", name)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// examples are the code blocks of a section, without their indent.
func examples(t *testing.T, name string) (blocks []string) {
	t.Helper()
	text := section(t, name)
	var block []string
	for _, line := range append(strings.Split(text, "\n"), "") {
		switch code, isCode := strings.CutPrefix(line, "    "); {
		case isCode:
			block = append(block, code)
		case line == "" && len(block) > 0:
			blocks = append(blocks, strings.Join(block, "\n"))
			block = nil
		}
	}
	return blocks
}

// example is the one that begins so.
func example(t *testing.T, blocks []string, begins string) string {
	t.Helper()
	for _, block := range blocks {
		if strings.HasPrefix(block, begins) {
			return block
		}
	}
	t.Fatalf("no example begins with %q", begins)
	return ""
}

func query(t *testing.T, c *postgres.Cluster, sql string) []string {
	t.Helper()
	rows, err := c.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// events fills the page's table: IDs about both ends of the day, of the first and the last datacenter,
// worker and tenant, and so many others that PostgreSQL has a reason to use the key.
func events(t *testing.T, c *postgres.Cluster, layout *generator.Layout, from, to time.Time) (all []int64) {
	t.Helper()
	for _, at := range []time.Time{from, to} {
		tick := layout.TickAt(at.UnixNano())
		for d := generator.Tick(-2); d <= 2; d++ {
			for fields := range 16 {
				last := func(bit int, f generator.Field) uint64 { return uint64(fields>>bit&1) * layout.Max(f) }
				id, err := layout.Compose(generator.Parts{
					Tick: tick + d, Datacenter: last(0, generator.Datacenter), Worker: last(1, generator.Worker),
					Tenant: last(2, generator.Tenant), Sequence: last(3, generator.Sequence),
				})
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, id)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	words := make([]string, len(all))
	for i, id := range all {
		words[i] = fmt.Sprintf("(%d, 'an end')", id)
	}
	query(t, c, example(t, examples(t, "PostgreSQL"), "CREATE TABLE events"))
	query(t, c, "INSERT INTO events VALUES "+strings.Join(words, ","))
	first, _, err := layout.Bounds(from, to)
	if err != nil {
		t.Fatal(err)
	}
	query(t, c, fmt.Sprintf("INSERT INTO events SELECT %d - i::bigint * 100000000, 'before' FROM generate_series(1, 100000) i ON CONFLICT DO NOTHING", first-1e9))
	query(t, c, "VACUUM ANALYZE events")
	return all
}

// The page's day has exactly the IDs whose time is in it, whatever their other fields are, and is read
// by the primary key.
func TestSpansAreRangesOfThePrimaryKey(t *testing.T) {
	from, to := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for _, text := range []string{"flakeward", "time=41@1ms,datacenter=3,worker=7,tenant=4,sequence=8;epoch=2026-01-01"} {
		t.Run(text, func(t *testing.T) {
			c := postgres.Start(t)
			layout, err := generator.ParseLayout(text)
			if err != nil {
				t.Fatal(err)
			}
			all := events(t, c, layout, from, to)
			postgres := examples(t, "PostgreSQL")
			selects := example(t, postgres, "SELECT id, what")
			var want []string
			for _, id := range all {
				if parts, err := layout.Decompose(id); err != nil {
					t.Fatal(err)
				} else if !parts.Time.Before(from) && parts.Time.Before(to) {
					want = append(want, strconv.FormatInt(id, 10)+"|an end")
				}
			}
			if got := query(t, c, selects); !slices.Equal(got, want) || len(want) < len(all)/4 {
				t.Errorf("got %d rows, want %d", len(got), len(want))
			}
			if got, want := strings.Join(query(t, c, "EXPLAIN (COSTS OFF) "+selects), "\n"), example(t, postgres, "Index Scan"); got != want {
				t.Errorf("the plan is\n%s\nand not, as on the page,\n%s", got, want)
			}
			_, condition, _ := strings.Cut(selects, "WHERE")
			condition, _, _ = strings.Cut(condition, "ORDER")
			count := "SELECT count(*) FROM events WHERE" + condition
			if got := query(t, c, count); got[0] != strconv.Itoa(len(want)) {
				t.Errorf("%s: %q, want %d", count, got, len(want))
			}
			if got := query(t, c, "EXPLAIN "+count); !strings.Contains(strings.Join(got, "\n"), "Index Only Scan using events_pkey") {
				t.Errorf("%s: the plan is %q", count, got)
			}
			if got := query(t, c, "EXPLAIN SELECT * FROM events WHERE id >> 22 >= 27993600000"); !strings.Contains(got[0], "Seq Scan") {
				t.Errorf("a shifted ID is compared by %q", got)
			}
			if got := query(t, c, "EXPLAIN SELECT * FROM events WHERE id::numeric >= 117413668454400000"); !strings.Contains(got[0], "Seq Scan") {
				t.Errorf("a numeric is compared by %q", got)
			}
		})
	}
}

// Each other statement of the page does what it says there.
func TestDatabaseStatements(t *testing.T) {
	c := postgres.Start(t)
	layout, err := generator.ParseLayout(generator.DefaultLayout)
	if err != nil {
		t.Fatal(err)
	}
	from, to := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	events(t, c, layout, from, to)
	postgres := examples(t, "PostgreSQL")
	page := example(t, postgres, "SELECT id, what FROM events\nWHERE id > ")
	if got := query(t, c, page); len(got) == 0 || got[0] <= "117600000000000000" {
		t.Errorf("the next page is %q", got)
	}
	if got := query(t, c, "EXPLAIN "+page); !strings.Contains(strings.Join(got, "\n"), "Index Scan using events_pkey") {
		t.Errorf("the next page's plan is %q", got)
	}
	query(t, c, example(t, postgres, "DELETE"))
	if got := query(t, c, "SELECT count(*) FROM events WHERE what = 'before'"); got[0] != "0" {
		t.Errorf("%s old rows are left", got)
	}
	query(t, c, example(t, postgres, "CREATE TABLE log"))
	first, below, err := layout.Bounds(from, to)
	if err != nil {
		t.Fatal(err)
	}
	for id, fits := range map[int64]bool{first - 1: false, first: true, below - 1: true, below: false} {
		if err := c.Exec(t.Context(), fmt.Sprintf("INSERT INTO log VALUES (%d, 'x')", id)); (err == nil) != fits {
			t.Errorf("the partition takes %d: %v", id, err)
		}
	}
}

// The page shows what the command prints, and MySQL gets the statement that PostgreSQL was tried with.
func TestDatabasePageIsTrue(t *testing.T) {
	shown := strings.Join(examples(t, "The range of a span"), "\n\n") + "\n"
	line, want, _ := strings.Cut(shown, "\n")
	args, ok := strings.CutPrefix(line, "$ ")
	if !ok {
		t.Fatalf("the page begins with %q", line)
	}
	var out strings.Builder
	words := append(strings.Fields(args), "--socket", filepath.Join(t.TempDir(), "none"))
	if err := cli.Run(t.Context(), words, nil, &out, io.Discard, nil); err != nil || out.String() != want {
		t.Errorf("%s prints\n%s%v\nand the page has\n%s", args, out.String(), err, want)
	}
	_, condition, _ := strings.Cut(strings.TrimSpace(out.String()), "\n\n")
	postgres := example(t, examples(t, "PostgreSQL"), "SELECT id, what")
	if !strings.Contains(postgres, "\nWHERE "+condition+"\n") {
		t.Errorf("the page's example is %q, and bounds printed %q", postgres, condition)
	}
	if mysql := example(t, examples(t, "MySQL"), "SELECT id, what"); mysql != postgres {
		t.Errorf("MySQL's example is %q, and PostgreSQL's %q", mysql, postgres)
	}
}
