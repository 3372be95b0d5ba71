package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/bench/ghz"
	"github.com/flakeward/flakeward/bench/redisbench"
	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/rounds"
)

const (
	etcdGroup  = "etcd counters by transaction"
	etcdModule = "go.etcd.io/etcd/server/v3"
	selfCount  = "count"
)

// putAndRead is a transaction that puts a key and reads it back: the version of the key, which etcd
// counts, is the number.
var putAndRead = map[string]any{"success": []map[string]any{
	{"request_put": map[string][]byte{"key": []byte("put"), "value": []byte("x")}},
	{"request_range": map[string][]byte{"key": []byte("put")}},
}}

// measureEtcd compares single IDs with a counter in etcd, in a process of its own and on disk as
// etcd is.
func measureEtcd(ctx context.Context, s setting) (found report.Findings, err error) {
	server, address, err := startEtcd(ctx, filepath.Join(s.dir, "etcd"))
	if err != nil {
		return found, err
	}
	defer server.end()
	found.Version("etcd", moduleVersion(etcdModule))
	l := ghz.Load{Protoset: filepath.Join(s.dir, "rpc.protoset"), Address: address, Call: "etcdserverpb.KV/Txn", Data: putAndRead, Length: s.length(time.Second)}
	if err := ghz.WriteProtoset(l.Protoset, etcdserverpb.File_rpc_proto); err != nil {
		return found, err
	}
	if l.Program, err = ghz.Install(ctx, s.dir); err != nil {
		found.Missing = append(found.Missing, fmt.Sprintf("%s: go install %s@%s", ghz.Program, ghz.Module, ghz.Pinned))
		found.Figures = append(found.Figures, report.Figure{Group: etcdGroup, What: "put and read", Unit: report.Rate, Peer: "etcd", Absent: err.Error()})
	} else {
		found.Version(ghz.Program, ghz.Version(ctx, l.Program))
	}
	a, err := enter(ctx, s, ours)
	if err != nil {
		return found, err
	}
	defer a.server.Kill()
	for _, l.Clients = range []int{1, 50} {
		figures, err := etcdFigures(ctx, s, a, l)
		if err != nil {
			return found, err
		}
		found.Figures = append(found.Figures, figures...)
	}
	return found, nil
}

// length is how long a round is.
func (s setting) length(long time.Duration) time.Duration {
	if s.short {
		return long / 4
	}
	return long
}

// etcdFigures measures the daemon and the ways of counting in turn, with that many clients.
func etcdFigures(ctx context.Context, s setting, a contestant, l ghz.Load) (figures []report.Figure, err error) {
	own := redisbench.Load{Clients: l.Clients, Pipeline: 1}
	if own.Requests, err = a.requests(ctx, own, 1000, l.Length); err != nil {
		return nil, err
	}
	ways := []struct{ what, note string }{{"compare and put", "a loop of our own over etcd's Go client: ghz cannot put what it has read"}}
	entered := []rounds.Contestant[sample]{
		{Name: a.name, Measure: func(ctx context.Context) (sample, error) { return a.load(ctx, own) }},
		{Name: "etcd, compare and put", Measure: func(ctx context.Context) (sample, error) { return compareAndPut(ctx, l) }},
	}
	if l.Program != "" {
		ways = append(ways, struct{ what, note string }{"put and read its version", "load from ghz"})
		entered = append(entered, rounds.Contestant[sample]{Name: "etcd, put and read", Measure: func(ctx context.Context) (sample, error) {
			r, err := l.Run(ctx)
			return sample{rate: r.Rate, p50: r.P50.Seconds(), p99: r.P99.Seconds()}, err
		}})
	}
	got, err := rounds.Interleave(ctx, s.rounds(fullRounds, 1), entered...)
	if err != nil {
		return nil, err
	}
	for i, w := range ways {
		f := versus(etcdGroup, fmt.Sprintf("single IDs, %s; etcd: %s", plural(l.Clients, "client"), w.what), report.Rate, got[0], "etcd", got[i+1], rateOf)
		f.Note = w.note
		figures = append(figures, f)
	}
	return figures, nil
}

// counting is what clients that count are told, and counted what they report.
type counting struct {
	Address string
	Clients int
	Length  time.Duration
}
type counted struct {
	Counts, Retries int64
	Took            time.Duration
}

// compareAndPut has clients in a process of their own count by comparing and putting.
func compareAndPut(ctx context.Context, l ghz.Load) (sample, error) {
	var got counted
	err := outcomeOf(ctx, selfCount, counting{l.Address, l.Clients, l.Length}, &got)
	return sample{rate: float64(got.Counts) / got.Took.Seconds()}, err
}

// count is these clients: each raises the counter by 1 in a transaction that succeeds only if the
// counter is still what was read. The answer of one that fails brings what it is now, so a retry
// costs one transaction and no read.
func count(ctx context.Context, what counting, report *json.Encoder) error {
	var counts, retries atomic.Int64
	errs := make([]error, what.Clients)
	over, cancel := context.WithTimeout(ctx, what.Length)
	defer cancel()
	begun := time.Now()
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			c, err := clientv3.New(clientv3.Config{Endpoints: []string{what.Address}})
			if err != nil {
				errs[i] = err
				return
			}
			defer c.Close() // nothing is left to do
			errs[i] = countUp(over, c, &counts, &retries)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return report.Encode(counted{counts.Load(), retries.Load(), time.Since(begun)})
}

// countUp counts until ctx ends.
func countUp(ctx context.Context, c *clientv3.Client, counts, retries *atomic.Int64) error {
	const key = "compare"
	value, revision := int64(0), int64(0)
	for {
		r, err := c.Txn(ctx).
			If(clientv3.Compare(clientv3.ModRevision(key), "=", revision)).
			Then(clientv3.OpPut(key, strconv.FormatInt(value+1, 10))).
			Else(clientv3.OpGet(key)).
			Commit()
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case r.Succeeded:
			counts.Add(1)
			value, revision = value+1, r.Header.Revision
			continue
		}
		retries.Add(1)
		now := r.Responses[0].GetResponseRange().Kvs
		if len(now) != 1 {
			return fmt.Errorf("the counter is gone: %d keys", len(now))
		}
		if value, err = strconv.ParseInt(string(now[0].Value), 10, 64); err != nil {
			return err
		}
		revision = now[0].ModRevision
	}
}

// moduleVersion is the version of a module that this program was built with.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return unknown
}
