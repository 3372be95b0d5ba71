package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/server"
)

const (
	// untilIdle is longer than --idle-after, and than the publish that a daemon makes then.
	untilIdle = 25 * time.Second
	// sixth is how often an idle daemon extends its grant, --window 10m being the default.
	sixth = 100 * time.Second
)

// measureRest has many daemons share an etcd while nobody asks them for IDs.
func measureRest(ctx context.Context, s setting) (found report.Findings, err error) {
	many, looks, length := 1000, fullRounds, sixth/4
	if s.short {
		many, looks, length = 20, 2, time.Second
	}
	etcd, address, err := startEtcd(ctx, filepath.Join(s.dir, "etcd"))
	if err != nil {
		return found, err
	}
	defer etcd.end()
	found.Version("etcd", moduleVersion(etcdModule))
	hosts, daemons, err := startMany(ctx, s, many, "etcd://"+address+"/rest")
	defer func() {
		for _, d := range daemons {
			d.Kill()
		}
	}()
	if err != nil {
		return found, err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	if err != nil {
		return found, err
	}
	defer client.Close() // it has nothing under way
	if err := pause(ctx, untilIdle); err != nil {
		return found, err
	}
	var writes, cpu, resident, first []float64
	for range looks {
		before, err := look(ctx, client, daemons)
		if err != nil {
			return found, err
		}
		if err := pause(ctx, length); err != nil {
			return found, err
		}
		after, err := look(ctx, client, daemons)
		if err != nil {
			return found, err
		}
		passed := after.at.Sub(before.at).Seconds()
		writes = append(writes, float64(after.revision-before.revision)/passed)
		cpu = append(cpu, (after.cpu-before.cpu).Seconds()/passed/float64(many))
		resident = append(resident, float64(after.resident)/float64(many))
	}
	for i := range looks {
		begun := time.Now()
		if err := ask(ctx, hosts[i].socket, oneRun, "RUN", "1"); err != nil {
			return found, err
		}
		first = append(first, time.Since(begun).Seconds())
	}
	group := fmt.Sprintf("Idle daemons, %s on one etcd", report.Format(report.Number, float64(many)))
	found.Figures = append(found.Figures,
		report.Figure{Group: group, What: "writes of all to etcd", Unit: report.Rate, Ours: writes, Note: fmt.Sprintf("growth of etcd's revision, %v each", length)}.AtMost(12),
		report.Figure{Group: group, What: "processor time of each, a second", Unit: report.Seconds, Ours: cpu, Note: "their threads together, in ticks of 10 ms"}.AtMost(0.002),
		report.Figure{Group: group, What: "resident size of each", Unit: report.Bytes, Ours: resident, Note: "VmRSS, with what they share"},
		report.Figure{Group: group, What: "the first ID after that", Unit: report.Seconds, Ours: first, Note: "one daemon a sample, the connection and one flush within it"})
	return found, nil
}

// startMany starts the daemons one after the other, each on a host of its own. It returns those that
// started, whatever comes after.
func startMany(ctx context.Context, s setting, many int, coordinator string) (hosts []host, daemons []*server.Server, err error) {
	for i := range many {
		h, err := newHost(s.binary, filepath.Join(s.dir, fmt.Sprint("host", i)), "--coord", coordinator)
		if err != nil {
			return hosts, daemons, err
		}
		d, _, err := h.start(ctx)
		if err != nil {
			return hosts, daemons, fmt.Errorf("daemon %d of %d: %w", i+1, many, err)
		}
		hosts, daemons = append(hosts, h), append(daemons, d)
	}
	return hosts, daemons, nil
}

// used is what all daemons together had used at a time.
type used struct {
	at       time.Time
	revision int64 // etcd's: each write makes one
	cpu      time.Duration
	resident int64 // bytes
}

// look reads what the daemons have used until now.
func look(ctx context.Context, client *clientv3.Client, daemons []*server.Server) (u used, err error) {
	got, err := client.Get(ctx, "/", clientv3.WithCountOnly())
	if err != nil {
		return u, err
	}
	u.at, u.revision = time.Now(), got.Header.Revision
	for _, d := range daemons {
		cpu, err := d.CPU()
		if err != nil {
			return u, err
		}
		memory, err := d.Memory()
		if err != nil {
			return u, err
		}
		u.cpu += cpu
		u.resident += memory.Resident
	}
	return u, nil
}
