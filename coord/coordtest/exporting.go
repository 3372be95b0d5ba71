package coordtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

var exporting = []testCase{
	{"export: nothing is granted from then on, nobody joins, and it says the same again", exported},
	{"export: no cluster", func(k *kit) {
		_, err := k.Operator(k).Export(k.Context())
		must.Fail(k, err, coord.ErrNoCluster)
	}},
	{"import: the cluster goes on from its records", imported},
	{"import: a write of before, whose version is right again", importedAndRight},
	{"import: an opening of before, whose version is right again", openedOverAnImport},
	{"import: refused where something is, and for what is no whole export", importRefused},
	{"import: an interrupted one is not served, and is gone on with by the same export alone", importInterrupted},
}

// unserved is every call of a daemon and an operator that answers *coord.NotServedError.
func (k *kit) unserved(importing bool, n *node, c coord.Claim, o coord.Operator) {
	k.Helper()
	stranger := k.stranger()
	for name, call := range map[string]func() error{
		"Extend":  func() error { return c.Extend(k.Context(), coord.Progress{Ceiling: 9000}) },
		"Release": func() error { return c.Release(k.Context(), 300) },
		"Claim":   func() error { _, err := n.Claim(k.Context(), anyone()); return err },
		"Look":    func() error { _, err := n.Look(k.Context()); return err },
		"Members": func() error { _, err := n.Members(k.Context()); return err },
		"Join":    func() error { return stranger.join() },
		"Create":  func() error { _, err := k.Operator(k).Create(k.Context(), k.cluster()); return err },
		"Inspect": func() error { _, err := k.Operator(k).Inspect(k.Context()); return err },
		"Marks":   func() error { _, err := o.Marks(k.Context()); return err },
		"Raise":   func() error { _, err := o.Raise(k.Context(), 9000); return err },
		"Widen":   func() error { return o.Widen(k.Context(), coord.WorkerRange{}, 9000) },
		"NewUUID": func() error { _, err := o.NewUUID(k.Context()); return err },
	} {
		var unserved *coord.NotServedError
		if err := call(); !errors.As(err, &unserved) || *unserved != (coord.NotServedError{Cluster: n.uuid, Importing: importing}) || errors.Is(err, coord.ErrLost) {
			k.Errorf("%s: %v, want *NotServedError of %s, importing %v", name, err, n.uuid, importing)
		}
	}
}

// held is a cluster with a holder, which has extended its grant.
func (k *kit) held() (*node, coord.Claim) {
	n := k.start("a")
	c := n.claim(wanting(1))
	k.extend(c, coord.Progress{Ceiling: 1000, Issued: 300})
	return n, c
}

func (k *kit) export() []byte { return must.Get(k.Operator(k).Export(k.Context()))(k) }

func exported(k *kit) {
	n, c := k.held()
	o := k.operator()
	_, err := o.Export(ended())
	must.Fail(k, err, context.Canceled)
	k.extend(c, coord.Progress{Ceiling: 1100, Issued: 300})
	first := must.Get(o.Export(k.Context()))(k)
	k.unserved(false, n, c, o)
	if again := k.export(); !bytes.Equal(first, again) {
		k.Errorf("exported\n%s\nand then\n%s", first, again)
	}
	if err := o.Import(k.Context(), first); !errors.Is(err, coord.ErrNotEmpty) {
		k.Errorf("Import where it was exported from: %v, want ErrNotEmpty", err)
	}
}

func imported(k *kit) {
	if k.Wipe == nil {
		return
	}
	k.ids, k.largest, k.floor = coord.WorkerRange{First: 1, Count: 6}, 600, 5
	n, c := k.held()
	o := k.operator()
	k.raise(o, 700)
	c = n.claim(wanting(c.Worker()))
	k.extend(c, coord.Progress{Ceiling: 2000, Issued: 800})
	other := k.start("b").claim(wanting(2))
	k.extend(other, coord.Progress{Ceiling: 1500, Issued: 900})
	was, marks, history := must.Get(o.Inspect(k.Context()))(k), k.marks(o), k.history(o, c.Worker())
	file := k.export()
	k.Wipe(k)
	must.Do(k, k.Operator(k).Import(k.Context(), file))

	after := k.operator()
	if is := must.Get(after.Inspect(k.Context()))(k); is != was {
		k.Errorf("the cluster was %+v and is %+v", was, is)
	}
	for i := range marks {
		marks[i].Claim = "" // claims end with their coordinator
	}
	if got := k.marks(after); fmt.Sprint(got) != fmt.Sprint(marks) {
		k.Errorf("the marks were\n%+v and are\n%+v", marks, got)
	}
	if got := k.history(after, c.Worker()); !slices.Equal(got, history) {
		k.Errorf("the history was\n%+v and is\n%+v", history, got)
	}
	// Who held it before goes on, unless it was told that what it knew is gone.
	if err := c.Extend(k.Context(), coord.Progress{Ceiling: 9000}); err != nil && !errors.As(err, new(*coord.RestoredError)) {
		k.Errorf("Extend by who held it before: %v", err)
	} else if m, _ := k.mark(after, c.Worker()); err == nil && (m.Ceiling != 9000 || m.Claim != c.Name()) {
		k.Errorf("Extend by who held it before left %+v", m)
	}
	k.revoke(n)
	if back := k.start("a").claim(wanting(c.Worker())); back.Worker() != c.Worker() {
		k.Errorf("the holder got worker ID %d, want %d", back.Worker(), c.Worker())
	}
	if got := k.start("b").claim(anyone()); got.Worker() != other.Worker() || got.Floor() != 1500 {
		k.Errorf("a start of the other host got worker ID %d, floor %d; want %d, 1500", got.Worker(), got.Floor(), other.Worker())
	}
}

// importedAndRight has a tree emptied, imported into, and written by another holder of the same worker
// ID, until the record has the version again that the holder of before knows, or close to it.
func importedAndRight(k *kit) {
	if k.Wipe == nil {
		return
	}
	for others := range 5 {
		n, c := k.held()
		file := k.export()
		k.Wipe(k)
		must.Do(k, k.Operator(k).Import(k.Context(), file))
		k.made = true
		theirs := k.start("b").claim(wanting(c.Worker()))
		for range others {
			k.extend(theirs, coord.Progress{Ceiling: 3000, Issued: 2500})
		}
		before := k.stored()
		for name, call := range map[string]func() error{
			"Extend":  func() error { return c.Extend(k.Context(), coord.Progress{Ceiling: 1100}) },
			"Release": func() error { return c.Release(k.Context(), 500) },
		} {
			if err := call(); err == nil {
				k.Errorf("%s of before the import passed, behind %d writes of the next holder", name, others)
			}
		}
		if after := k.stored(); !reflect.DeepEqual(after, before) {
			k.Errorf("a claim of before the import wrote, behind %d writes of the next holder: from\n%+v to\n%+v", others, before, after)
		}
		Close(k, n)
		k.Wipe(k)
	}
}

// An opening compares the version that its record had when the claim's node was made. Between the two
// the cluster is exported and imported, where versions may start over, and another opens the record.
func openedOverAnImport(k *kit) {
	if k.Wipe == nil {
		return
	}
	for others := range 5 {
		n, c := k.held()
		k.release(c, 500)
		var theirs coord.Claim
		request := wanting(c.Worker())
		request.Before = func(worker int) error {
			if worker == coord.AnyWorker || theirs != nil {
				return nil
			}
			file := k.export()
			k.Wipe(k)
			must.Do(k, k.Operator(k).Import(k.Context(), file))
			k.made = true
			theirs = k.start("b").claim(wanting(c.Worker()))
			for range others {
				k.extend(theirs, coord.Progress{Ceiling: 3000, Issued: 2500})
			}
			return nil
		}
		opened, err := n.Claim(k.Context(), request)
		if theirs == nil {
			k.Fatalf("Claim: %v, and nothing was opened; the case is void", err)
		}
		if err == nil && opened.Worker() == theirs.Worker() {
			k.Errorf("opened above %d beside the holder since the import, behind %d writes of it", opened.Floor(), others)
		}
		if err := theirs.Extend(k.Context(), coord.Progress{Ceiling: 3100, Issued: 2500}); err != nil {
			k.Errorf("the holder since the import, behind %d writes of it: %v", others, err)
		}
		Close(k, n)
		k.Wipe(k)
	}
}

func importRefused(k *kit) {
	if k.Wipe == nil {
		return
	}
	k.held()
	file := k.export()
	k.Wipe(k)
	o := k.Operator(k)
	for what, damaged := range map[string][]byte{
		"empty": nil, "cut": file[:len(file)/2], "two": append(bytes.Clone(file), file...), "another version": bytes.Replace(file, []byte("cluster-1"), []byte("cluster-2"), 1),
		"a digit": bytes.Replace(file, []byte(`"worker":1`), []byte(`"worker":2`), 1),
	} {
		if err := o.Import(k.Context(), damaged); !errors.Is(err, coord.ErrExport) {
			k.Errorf("%s: %v, want ErrExport", what, err)
		}
	}
	if _, err := o.Inspect(k.Context()); !errors.Is(err, coord.ErrNoCluster) {
		k.Errorf("a damaged export was written: %v", err)
	}
	must.Do(k, o.Import(k.Context(), file))
	c := k.start("b").claim(wanting(1))
	for range 2 {
		if err := k.Operator(k).Import(k.Context(), file); !errors.Is(err, coord.ErrNotEmpty) {
			k.Errorf("imported twice: %v, want ErrNotEmpty", err)
		}
	}
	k.extend(c, coord.Progress{Ceiling: 2000, Issued: 1100})
	if again := k.export(); bytes.Equal(again, file) {
		k.Error("what was granted after the import is not in its export")
	}
}

func importInterrupted(k *kit) {
	if k.Fault == nil || k.Wipe == nil {
		return
	}
	n, c := k.held()
	k.extend(k.start("b").claim(wanting(2)), coord.Progress{Ceiling: 1500})
	first := k.export()
	k.Wipe(k)
	must.Do(k, k.Operator(k).Import(k.Context(), first))
	_ = must.Get(k.operator().Raise(k.Context(), 700))(k)
	second := k.export()
	halves := 0
	for _, landed := range []bool{false, true} {
		for i := 0; ; i++ {
			what := fmt.Sprintf("request %d, landed %v", i, landed)
			k.Wipe(k)
			o := k.Operator(k)
			happened := k.Fault(k, o.(coord.Coordinator), i, landed)
			failure := o.Import(k.Context(), first)
			if !happened() {
				if i == 0 || failure != nil {
					k.Fatalf("%s: %v; the case is void", what, failure)
				}
				break
			}
			var unserved *coord.NotServedError
			if _, err := k.Operator(k).Inspect(k.Context()); errors.As(err, &unserved) {
				halves++
				if !unserved.Importing || k.stranger().join() == nil {
					k.Errorf("%s: a daemon joined what is half there: %v", what, err)
				}
				if err := k.Operator(k).Import(k.Context(), second); !errors.Is(err, coord.ErrNotEmpty) {
					k.Errorf("%s: gone on with by another export: %v, want ErrNotEmpty", what, err)
				}
				if _, err := k.Operator(k).Export(k.Context()); !errors.As(err, &unserved) {
					k.Errorf("%s: the half was exported: %v", what, err)
				}
			}
			// If its last write landed, it is done, and refused.
			if err := k.Operator(k).Import(k.Context(), first); err != nil && !errors.Is(err, coord.ErrNotEmpty) {
				k.Errorf("%s: run again: %v", what, err)
			}
			if got := k.marks(k.operator()); len(got) != 2 || got[0].Ceiling != 1000 || got[1].Ceiling != 1500 {
				k.Errorf("%s: run again, the marks are %+v", what, got)
			}
		}
	}
	if halves < 3 {
		k.Errorf("%d imports were interrupted in the middle: the case shows nothing", halves)
	}
	k.Wipe(k)
	must.Do(k, k.Operator(k).Import(k.Context(), first))
	if back := k.start("a").claim(wanting(c.Worker())); back.Floor() != 1000 || n.uuid != must.Get(k.operator().Inspect(k.Context()))(k).UUID {
		k.Errorf("the holder got worker ID %d above %d, want it above 1000", back.Worker(), back.Floor())
	}
}
