package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/coord/zk/zktest/zkserver"
	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/process"
)

const (
	// publish is the daemon's default: a record's ceiling is raised as often, so the ends under load
	// are spread over it.
	publish = time.Second
	// mostDirectory and mostRunning are what a start may take: one that starts its coordinator too,
	// and one that finds it running.
	mostDirectory = 150 * time.Millisecond
	mostRunning   = 50 * time.Millisecond
)

// measureStarts starts daemons after every kind of end, and beside every kind of coordinator.
func measureStarts(ctx context.Context, s setting) (found report.Findings, err error) {
	rounds := s.rounds(9, 3)
	stop := func(d *process.Process) error { return d.Stop(ctx) }
	fresh, err := freshStarts(ctx, s, "fresh", rounds)
	if err != nil {
		return found, err
	}
	found.Figures = append(found.Figures, slowestStart("directory, a new one", fresh, mostDirectory))

	stopped, err := restarts(ctx, s, "stopped", rounds, stop)
	if err != nil {
		return found, err
	}
	found.Figures = append(found.Figures, slowestStart("directory, after SIGTERM under load", stopped, mostDirectory))

	killed, err := restarts(ctx, s, "killed", rounds, (*process.Process).Kill)
	if err != nil {
		return found, err
	}
	found.Figures = append(found.Figures, slowestStart("directory, after kill -9 under load", killed, mostDirectory))

	for _, running := range []func(context.Context, setting, int) (report.Findings, error){startsOnEtcd, startsOnZooKeeper} {
		more, err := running(ctx, s, rounds)
		if err != nil {
			return found, err
		}
		found.Add(more)
	}
	return found, nil
}

// startsOnEtcd starts daemons whose coordinator is an etcd of one member that runs on this machine,
// with etcd's own defaults.
func startsOnEtcd(ctx context.Context, s setting, rounds int) (found report.Findings, err error) {
	program, err := etcdProgram()
	if err != nil {
		return absent("etcd", err), nil
	}
	etcd, address, err := startEtcd(ctx, program, filepath.Join(s.dir, "etcd"))
	if err != nil {
		return found, err
	}
	defer etcd.Kill()
	return startsOn(ctx, s, rounds, "etcd", "etcd://"+address+"/start")
}

// startsOnZooKeeper starts daemons whose coordinator is one ZooKeeper server that runs on this
// machine.
func startsOnZooKeeper(ctx context.Context, s setting, rounds int) (found report.Findings, err error) {
	dir, err := filepath.Abs(filepath.Join(s.dir, "zookeeper"))
	if err != nil {
		return found, err
	}
	zk, err := zkserver.New(dir, zkserver.Options{})
	if err != nil {
		return absent("ZooKeeper", err), nil
	}
	defer func() { err = errors.Join(err, zk.Close()) }()
	ready, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := zk.Start(ready); err != nil {
		return found, err
	}
	return startsOn(ctx, s, rounds, "ZooKeeper", "zk://"+zk.Addresses()[0]+"/start")
}

// startsOn starts daemons on a coordinator that runs, and has been asked before: a Java server's
// first answers take a tenth of a second.
func startsOn(ctx context.Context, s setting, rounds int, name, url string) (found report.Findings, err error) {
	stop := func(d *process.Process) error { return d.Stop(ctx) }
	if _, err := freshStarts(ctx, s, name+"-first", 2, "--coord", url); err != nil {
		return found, err
	}
	fresh, err := freshStarts(ctx, s, name+"-fresh", rounds, "--coord", url)
	if err != nil {
		return found, err
	}
	stopped, err := restarts(ctx, s, name+"-stopped", rounds, stop, "--coord", url)
	if err != nil {
		return found, err
	}
	for i, what := range startKinds(name) {
		took := [][]time.Duration{fresh, stopped}[i]
		f := startFigure(what, took, "the median counts")
		found.Figures = append(found.Figures, f.AtMost(mostRunning.Seconds()))
	}
	return found, nil
}

// absent are the figures of a coordinator that is not installed.
func absent(name string, err error) (found report.Findings) {
	for _, what := range startKinds(name) {
		found.Figures = append(found.Figures, report.Figure{Group: startGroup, What: what, Unit: report.Seconds, Absent: name + " is not installed"})
	}
	found.Missing = append(found.Missing, name+": "+err.Error())
	return found
}

// startKinds are the figures of a coordinator that runs.
func startKinds(name string) []string {
	return []string{name + " is running, a new host", name + " is running, after SIGTERM under load"}
}

// freshStarts starts daemons of hosts that are new, each after the one before has stopped.
func freshStarts(ctx context.Context, s setting, name string, rounds int, flags ...string) (took []time.Duration, err error) {
	for i := range rounds {
		h, err := newHost(s.binary, filepath.Join(s.dir, fmt.Sprint(name, i)), flags...)
		if err != nil {
			return nil, err
		}
		d, t, err := start(ctx, h)
		if err != nil {
			return nil, err
		}
		if err := d.Stop(ctx); err != nil {
			return nil, err
		}
		took = append(took, t)
	}
	return took, nil
}

// restarts starts daemons of one host, each after the one before was ended while a client pulled IDs
// from it.
func restarts(ctx context.Context, s setting, name string, rounds int, end func(*process.Process) error, flags ...string) (took []time.Duration, err error) {
	h, err := newHost(s.binary, filepath.Join(s.dir, name), flags...)
	if err != nil {
		return nil, err
	}
	d, _, err := start(ctx, h)
	for i := range rounds {
		if err != nil {
			return nil, err
		}
		// The ends are spread evenly between two publishes.
		if err := endUnderLoad(ctx, h, d, publish+publish*time.Duration(i)/time.Duration(rounds), end); err != nil {
			return nil, errors.Join(err, d.Kill())
		}
		var t time.Duration
		d, t, err = start(ctx, h)
		took = append(took, t)
	}
	if err != nil {
		return nil, err
	}
	return took, d.Kill()
}

// endUnderLoad ends the daemon after a client has asked it for IDs for that long, and still does.
func endUnderLoad(ctx context.Context, h *process.Host, d *process.Process, length time.Duration, end func(*process.Process) error) error {
	client, err := load.Open(ctx, h.Socket, load.Config{Row: 500, Window: 4})
	if err != nil {
		return err
	}
	defer client.Close() // the daemon has ended the connection
	if err := errors.Join(client.Await(ctx, 1), pause(ctx, length)); err != nil {
		return err
	}
	return end(d)
}

const startGroup = "Start, to the first whole reply"

// slowestStart has its target for the slowest start.
func slowestStart(what string, took []time.Duration, limit time.Duration) report.Figure {
	return startFigure(what, took, "the slowest counts").EachAtMost(limit.Seconds())
}

func startFigure(what string, took []time.Duration, note string) report.Figure {
	f := report.Figure{Group: startGroup, What: what, Unit: report.Seconds, Note: fmt.Sprintf("%d starts; %s", len(took), note)}
	for _, t := range took {
		f.Ours = append(f.Ours, t.Seconds())
	}
	return f
}
