// Package idforms_test holds the forms of IDs against programs of others: libraries of UUIDs,
// PostgreSQL, and the programs in Python that docs/forms.md has.
package idforms_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	gofrs "github.com/gofrs/uuid/v5"
	google "github.com/google/uuid"

	"github.com/flakeward/flakeward/e2e/bench/postgres"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/uuid7"
)

const cluster = "6f1c1a52-0b67-4b8e-9d6a-3c2f4e5d7a81"

// count is how many UUIDs there are: a million in the long form.
var count = 50_000

func TestMain(m *testing.M) {
	long := flag.Bool("long", false, "a million UUIDs")
	flag.Parse()
	if *long {
		count = 1_000_000
	}
	os.Exit(m.Run())
}

// form is an ID and its UUID as text and bytes.
type form struct {
	id   int64
	text string
	raw  [16]byte
	at   time.Time // the start of its tick
}

// forms are count IDs of many workers, and their UUIDs, in no order.
func forms(t *testing.T) []form {
	t.Helper()
	l, err := generator.ParseLayout(generator.DefaultLayout)
	if err != nil {
		t.Fatal(err)
	}
	c, err := uuid7.New(l, cluster)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 9562))
	all := make([]form, 0, count)
	seen := make(map[int64]bool, count)
	for tick := l.TickAt(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC).UnixNano()); len(all) < count; tick += generator.Tick(rng.IntN(3)) {
		for range 100 {
			p := generator.Parts{Tick: tick, Worker: rng.Uint64N(1024), Sequence: rng.Uint64N(1 << rng.UintN(13))}
			id, err := l.Compose(p)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := c.Encode(id)
			if err != nil {
				t.Fatal(err)
			}
			if !seen[id] && len(all) < count {
				seen[id] = true
				all = append(all, form{id, string(c.AppendText(nil, id)), raw, l.StartOf(tick)})
			}
		}
	}
	rng.Shuffle(count, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// risesWith fails unless IDs sorted by their UUIDs are sorted.
func risesWith(t *testing.T, ids []int64) {
	t.Helper()
	if len(ids) != count || !slices.IsSorted(ids) {
		t.Errorf("%d IDs, sorted as their UUIDs are: %v", len(ids), slices.IsSorted(ids))
	}
}

// Each library takes each UUID as one of version 7, reads the time that the ID has, writes the same
// text and bytes, and sorts as the IDs do.
func TestLibrariesTakeAndSortUUIDs(t *testing.T) {
	all := forms(t)
	t.Run("google/uuid", func(t *testing.T) {
		type one struct {
			uuid google.UUID
			id   int64
		}
		var read []one
		for _, f := range all {
			u, err := google.Parse(f.text)
			if err != nil || u.Version() != 7 || u.Variant() != google.RFC4122 || u.String() != f.text || [16]byte(u) != f.raw {
				t.Fatalf("%d: %s is read as %s of version %d and variant %s: %v", f.id, f.text, u, u.Version(), u.Variant(), err)
			}
			if s, n := u.Time().UnixTime(); !time.Unix(s, n).Equal(f.at) {
				t.Fatalf("%d: %s has the time %v, want %v", f.id, f.text, time.Unix(s, n), f.at)
			}
			read = append(read, one{u, f.id})
		}
		slices.SortFunc(read, func(a, b one) int { return bytes.Compare(a.uuid[:], b.uuid[:]) })
		var ids []int64
		for _, r := range read {
			ids = append(ids, r.id)
		}
		risesWith(t, ids)
	})
	t.Run("gofrs/uuid", func(t *testing.T) {
		type one struct {
			uuid gofrs.UUID
			id   int64
		}
		var read []one
		for _, f := range all {
			u, err := gofrs.FromString(f.text)
			if err != nil || u.Version() != gofrs.V7 || u.Variant() != gofrs.VariantRFC9562 || u.String() != f.text || [16]byte(u) != f.raw {
				t.Fatalf("%d: %s is read as %s of version %d and variant %d: %v", f.id, f.text, u, u.Version(), u.Variant(), err)
			}
			stamp, err := gofrs.TimestampFromV7(u)
			if at, wrong := stamp.Time(); err != nil || wrong != nil || !at.Equal(f.at) {
				t.Fatalf("%d: %s has the time %v, want %v: %v, %v", f.id, f.text, at, f.at, err, wrong)
			}
			read = append(read, one{u, f.id})
		}
		slices.SortFunc(read, func(a, b one) int { return bytes.Compare(a.uuid.Bytes(), b.uuid.Bytes()) })
		var ids []int64
		for _, r := range read {
			ids = append(ids, r.id)
		}
		risesWith(t, ids)
	})
	path := written(t, all)
	t.Run("Python's uuid", func(t *testing.T) {
		out := run(t, "/usr/bin/python3", "testdata/uuids.py", path)
		if want := fmt.Sprintf("%d UUIDs of version 7, sorted as their IDs\n", count); out != want {
			t.Errorf("%q, want %q", out, want)
		}
	})
	t.Run("PostgreSQL's uuid", func(t *testing.T) { inPostgreSQL(t, path) })
}

// written writes IDs and UUIDs to a file that PostgreSQL may read as well, a line each.
func written(t *testing.T, all []form) string {
	t.Helper()
	var b bytes.Buffer
	for _, f := range all {
		fmt.Fprintf(&b, "%d\t%s\n", f.id, f.text)
	}
	// Not in a directory of the test, which PostgreSQL's user may not enter.
	f := must.Get(os.CreateTemp("", "uuids"))(t)
	t.Cleanup(func() { _ = os.Remove(f.Name()) })
	_, err := f.Write(b.Bytes())
	must.Do(t, err, f.Chmod(0o644), f.Close())
	return f.Name()
}

func inPostgreSQL(t *testing.T, path string) {
	c := postgres.Start(t)
	for _, q := range []struct{ sql, want string }{
		{"CREATE UNLOGGED TABLE ids (id bigint, u uuid)", ""},
		{"COPY ids FROM '" + path + "'", ""},
		{"SELECT count(*), count(DISTINCT u), count(*) FILTER (WHERE substr(u::text, 15, 1) = '7') FROM ids", fmt.Sprintf("%d|%[1]d|%[1]d", count)},
		{"SELECT count(*) FROM (SELECT id, lag(id) OVER (ORDER BY u) AS before FROM ids) s WHERE id <= before", "0"},
	} {
		rows, err := c.Query(t.Context(), q.sql)
		if err != nil || strings.Join(rows, "\n") != q.want {
			t.Fatalf("%s: %q, %v; want %q", q.sql, rows, err, q.want)
		}
	}
}

// run returns what a program prints.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	var wrong bytes.Buffer
	command.Stderr = &wrong
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", program, err, out, &wrong)
	}
	return string(out)
}
