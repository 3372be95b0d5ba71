package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/bench/pgbench"
	"github.com/flakeward/flakeward/bench/redisbench"
	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/rounds"
)

const postgresGroup = "PostgreSQL nextval, over its Unix socket"

// sequences are those that are drawn from. With a cache each session takes as many numbers at a
// time: they are no longer in order between sessions, and what a session has left at its end is
// lost.
var sequences = []struct {
	name  string
	cache int
}{{"each", 1}, {"cached", 1000}}

// measurePostgres compares single IDs with numbers of a sequence.
func measurePostgres(ctx context.Context, s setting) (found report.Findings, err error) {
	programs := pgbench.Find()
	if programs == "" {
		found.Missing = []string{pgbench.Install}
		found.Figures = []report.Figure{{Group: postgresGroup, What: "nextval", Unit: report.Rate, Peer: "PostgreSQL", Absent: "PostgreSQL is not installed"}}
		return found, nil
	}
	cluster, err := pgbench.Start(ctx, programs)
	if err != nil {
		return found, err
	}
	defer func() {
		if closed := cluster.Close(); err == nil {
			err = closed
		}
	}()
	if version, err := cluster.Version(ctx); err == nil {
		found.Version("PostgreSQL", version)
	}
	for _, q := range sequences {
		if err := cluster.Exec(ctx, fmt.Sprintf("CREATE SEQUENCE %s CACHE %d", q.name, q.cache)); err != nil {
			return found, err
		}
	}
	a, err := enter(ctx, s, ours)
	if err != nil {
		return found, err
	}
	defer a.server.Kill()
	for _, clients := range []int{1, 50} {
		figures, err := nextval(ctx, s, cluster, a, clients)
		if err != nil {
			return found, err
		}
		found.Figures = append(found.Figures, figures...)
	}
	return found, nil
}

// nextval measures the daemon and each sequence in turn.
func nextval(ctx context.Context, s setting, cluster *pgbench.Cluster, a contestant, clients int) (figures []report.Figure, err error) {
	const length = time.Second // pgbench knows whole seconds only
	l := redisbench.Load{Clients: clients, Pipeline: 1}
	if l.Requests, err = a.requests(ctx, l, 1000, length); err != nil {
		return nil, err
	}
	entered := []rounds.Contestant[sample]{{Name: a.name, Measure: func(ctx context.Context) (sample, error) { return a.load(ctx, l) }}}
	for _, q := range sequences {
		l := pgbench.Load{Clients: clients, SQL: fmt.Sprintf("SELECT nextval('%s')", q.name), Length: length}
		entered = append(entered, rounds.Contestant[sample]{Name: "PostgreSQL, " + q.name, Measure: func(ctx context.Context) (sample, error) {
			r, err := cluster.Run(ctx, l)
			return sample{rate: r.Rate, p50: r.Mean.Seconds()}, err
		}})
	}
	got, err := rounds.Interleave(ctx, s.rounds(fullRounds, 1), entered...)
	if err != nil {
		return nil, err
	}
	for i, q := range sequences {
		f := versus(postgresGroup, fmt.Sprintf("single IDs, %s, CACHE %d", plural(clients, "client"), q.cache), report.Rate, got[0],
			"PostgreSQL nextval", got[i+1], rateOf)
		f.Note = "load from redis-benchmark and pgbench (prepared statement)"
		figures = append(figures, f)
	}
	return figures, nil
}

// plural is a count and its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
