package coordtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"

	"golang.org/x/sync/errgroup"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

var moving = []testCase{
	{"moving: nothing is granted, and nobody joins, where the cluster is not served", notServed},
	{"moving: the cluster record is changed only from the place that is there", changedFrom},
	{"moving: who holds a record goes on from its copy", continuedFromCopy},
	{"moving: a copy is stored only in the place that is named", storedIn},
	{"moving: of two that store one record each stores it or is told to look anew", storedByTwo},
	{"moving: a lost reply leaves all of it done or none", storedInDoubt},
}

// mover returns one side of a move.
func (k *kit) mover() coord.Mover {
	k.Helper()
	m, ok := k.Operator(k).(coord.Movable)
	if !ok {
		k.Fatal("the operator moves nothing")
	}
	return m.Mover()
}

func (k *kit) place(m coord.Mover) coord.Place {
	k.Helper()
	p, err := m.Place(k.Context())
	if err != nil {
		k.Fatalf("Place: %v", err)
	}
	return p
}

// change changes the place that is there to the stage, and returns it.
func (k *kit) change(m coord.Mover, to coord.Stage) coord.Place {
	k.Helper()
	was := k.place(m)
	next := was
	next.Stage, next.Move, next.Peer = to, "", ""
	if to != coord.Serving {
		next.Move, next.Peer = rand.Text(), "zk://elsewhere"
	}
	if err := m.Change(k.Context(), was, next); err != nil {
		k.Fatalf("Change to %q: %v", to, err)
	}
	if got := k.place(m); got != next {
		k.Fatalf("the place is %+v, want %+v", got, next)
	}
	return next
}

func (k *kit) records(m coord.Mover) []coord.Copy {
	k.Helper()
	all, err := m.Records(k.Context(), k.place(m))
	if err != nil {
		k.Fatalf("Records: %v", err)
	}
	return all
}

// stored returns the worker ID's record with its history.
func (k *kit) stored(m coord.Mover, worker int) coord.Copy {
	k.Helper()
	for _, c := range k.records(m) {
		if c.Worker != worker {
			continue
		}
		c, err := m.History(k.Context(), k.place(m), c)
		if err != nil {
			k.Fatalf("History: %v", err)
		}
		return c
	}
	k.Fatalf("worker ID %d has no record", worker)
	return coord.Copy{}
}

func notServed(k *kit) {
	n := k.start("a")
	c := n.claim(wanting(1))
	k.extend(c, coord.Progress{Ceiling: 1000, Issued: 300, Mark: 400})
	m, o := k.mover(), k.operator()
	for _, stage := range []coord.Stage{coord.Sealed, coord.Left, coord.Closed} {
		at, before := k.change(m, stage), k.records(m)
		stranger := k.stranger()
		for name, call := range map[string]func() error{
			"Extend":  func() error { return c.Extend(k.Context(), coord.Progress{Ceiling: 9000}) },
			"Release": func() error { return c.Release(k.Context(), 300) },
			"Reopen":  func() error { _, err := c.Reopen(k.Context(), 1<<30, 1<<40); return err },
			"Claim":   func() error { _, err := Claim(k.Context(), n, anyone()); return err },
			"Look":    func() error { _, err := n.Look(k.Context()); return err },
			"Members": func() error { _, err := n.Members(k.Context()); return err },
			"Join":    func() error { return stranger.joinWith(0) },
			"Inspect": func() error { _, err := k.Operator(k).Inspect(k.Context()); return err },
			"Raise":   func() error { _, err := o.Raise(k.Context(), 9000); return err },
			"NewUUID": func() error { _, err := o.NewUUID(k.Context()); return err },
		} {
			var stage *coord.StageError
			if err := call(); !errors.As(err, &stage) || stage.Place != at || errors.Is(err, coord.ErrLost) {
				k.Errorf("%s: %s: %v, want *StageError of %+v", at.Stage, name, err, at)
			}
		}
		if after := k.records(m); !reflect.DeepEqual(after, before) {
			k.Errorf("%s: the records were %+v and are %+v", stage, before, after)
		}
	}
	k.change(m, coord.Serving)
	k.extend(c, coord.Progress{Ceiling: 2000, Issued: 300, Mark: 500}) // nothing was lost
}

func changedFrom(k *kit) {
	m := k.mover()
	if p := k.place(m); p != (coord.Place{}) {
		k.Fatalf("the place is %+v, want none", p)
	}
	closed := coord.Place{Stage: coord.Closed, UUID: "u", Move: rand.Text(), Peer: "etcd://elsewhere"}
	must.Do(k, m.Change(k.Context(), coord.Place{}, closed))
	serving := coord.Place{Stage: coord.Serving, UUID: "u", Layout: text, Workers: k.workers, Floor: 70, ClusterEpoch: rand.Text(), Window: 600,
		Range: coord.WorkerRange{First: 2, Count: 4}, Numbered: coord.WorkerRange{First: 2, Count: 3}, Above: 50}
	other := closed
	other.Move = rand.Text()
	for _, was := range []coord.Place{{}, other, serving} {
		if err := m.Change(k.Context(), was, serving); !errors.Is(err, coord.ErrRaced) {
			k.Errorf("Change from %+v: %v, want ErrRaced", was, err)
		}
	}
	if p := k.place(m); p != closed {
		k.Fatalf("the place is %+v, want %+v", p, closed)
	}
	must.Do(k, m.Change(k.Context(), closed, serving))
	if p := k.place(m); p != serving {
		k.Fatalf("the place is %+v, want %+v", p, serving)
	}
	if n := k.start("a"); n.uuid != "u" {
		k.Errorf("a daemon joined %s, want u", n.uuid)
	}
	v, err := k.Operator(k).Inspect(k.Context())
	if want := (coord.Inspected{Layout: text, UUID: "u", Floor: 70, ClusterEpoch: serving.ClusterEpoch, Window: 600, Range: serving.Range, Above: 50}); err != nil || v != want {
		k.Errorf("Inspect: %+v, %v; want %+v", v, err, want)
	}
	if err := m.Change(ended(), serving, closed); !errors.Is(err, context.Canceled) {
		k.Errorf("Change with a context that has ended: %v", err)
	}
}

// The copy of a record is the record: here that of another worker ID, as the kit has one tree.
func continuedFromCopy(k *kit) {
	n := k.start("a")
	c := n.claim(wanting(1))
	k.extend(c, coord.Progress{Ceiling: 1000, Issued: 300, Mark: 400})
	m := k.mover()
	at := k.change(m, coord.Closed)
	copied := k.stored(m, 1)
	if copied.Ceiling != 1000 || !copied.Held || copied.Host != "a" || len(copied.History) == 0 {
		k.Errorf("the copy is %+v", copied)
	}
	copied.Worker = 5
	for range 2 { // again does no harm
		if err := m.Store(k.Context(), at, copied); err != nil {
			k.Fatalf("Store: %v", err)
		}
	}
	got := k.stored(m, 5)
	if !bytes.Equal(got.Record, copied.Record) || !bytes.Equal(got.History, copied.History) || got.Held {
		k.Errorf("stored was %+v, want %+v, held by nobody", got, copied)
	}
	k.change(m, coord.Serving)
	k.revoke(n)
	stranger, holder := k.start("b"), k.start("c")
	r := continuing(c, 400)
	r.Worker = 5
	if back := holder.claim(r); back.Worker() != 5 || !back.Continues() {
		k.Errorf("the holder got worker ID %d, continues %v; want 5, true", back.Worker(), back.Continues())
	}
	r.Worker, r.Opening = 1, "another"
	if got := stranger.claim(r); got.Worker() != 1 || got.Continues() || got.Floor() != 1000 {
		k.Errorf("a stranger got worker ID %d, continues %v, floor %d; want 1, false, 1000", got.Worker(), got.Continues(), got.Floor())
	}
}

func storedIn(k *kit) {
	n := k.start("a")
	k.extend(n.claim(wanting(1)), coord.Progress{Ceiling: 1000, Issued: 300, Mark: 400})
	m := k.mover()
	old := k.change(m, coord.Closed)
	c := k.stored(m, 1)
	c.Worker = 5
	now := k.change(m, coord.Closed)
	serving := now
	serving.Stage, serving.Move, serving.Peer = coord.Serving, "", ""
	for _, at := range []coord.Place{old, serving, {}} {
		if err := m.Store(k.Context(), at, c); !errors.Is(err, coord.ErrRaced) {
			k.Errorf("Store in %+v: %v, want ErrRaced", at, err)
		}
		if _, err := m.Records(k.Context(), at); !errors.Is(err, coord.ErrRaced) {
			k.Errorf("Records of %+v: %v, want ErrRaced", at, err)
		}
	}
	if all := k.records(m); len(all) != 1 {
		k.Errorf("the records are %+v", all)
	}
}

func storedByTwo(k *kit) {
	n := k.start("a")
	k.extend(n.claim(wanting(1)), coord.Progress{Ceiling: 1000, Issued: 300, Mark: 400})
	m := k.mover()
	at := k.change(m, coord.Closed)
	c := k.stored(m, 1)
	c.Worker = 5
	var both errgroup.Group
	for _, m := range []coord.Mover{m, k.mover()} {
		both.Go(func() error {
			for range 20 {
				if err := m.Store(k.Context(), at, c); err != nil && !errors.Is(err, coord.ErrRaced) {
					return err
				}
			}
			return nil
		})
	}
	if err := both.Wait(); err != nil {
		k.Errorf("Store while another does: %v, want none or ErrRaced", err)
	}
	if err := m.Store(k.Context(), at, c); err != nil {
		k.Errorf("Store after both: %v", err)
	}
	if got := k.stored(m, 5); !bytes.Equal(got.Record, c.Record) || got.Held {
		k.Errorf("worker ID 5 has %s, held %v; want %s, held by nobody", got.Record, got.Held, c.Record)
	}
}

func storedInDoubt(k *kit) {
	if k.Fault == nil {
		return
	}
	n := k.start("a")
	k.extend(n.claim(wanting(1)), coord.Progress{Ceiling: 1000, Issued: 300, Mark: 400})
	look := k.mover()
	at := k.change(look, coord.Closed)
	c := k.stored(look, 1)
	for _, landed := range []bool{false, true} {
		for i := 0; ; i++ {
			what := fmt.Sprintf("request %d, landed %v", i, landed)
			o := k.Operator(k)
			m := o.(coord.Movable).Mover()
			c.Worker = 2 + i%6
			happened := k.Fault(k, o.(coord.Coordinator), i, landed)
			failure := m.Store(k.Context(), at, c)
			if !happened() {
				if i == 0 || failure != nil {
					k.Fatalf("%s: %v; the case is void", what, failure)
				}
				break
			}
			for _, found := range k.records(look) {
				if found.Worker != c.Worker {
					continue
				}
				if found = k.stored(look, c.Worker); !bytes.Equal(found.Record, c.Record) || !bytes.Equal(found.History, c.History) {
					k.Errorf("%s: %v; half of it is stored: %+v", what, failure, found)
				}
			}
			if err := look.Store(k.Context(), at, c); err != nil {
				k.Errorf("%s: made again: %v", what, err)
			}
			if got := k.stored(look, c.Worker); !bytes.Equal(got.Record, c.Record) || got.Held {
				k.Errorf("%s: made again, worker ID %d has %s, held %v; want %s, held by nobody", what, c.Worker, got.Record, got.Held, c.Record)
			}
		}
	}
}
