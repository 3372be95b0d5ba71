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
		_, err := k.visitor().Export(k.Context())
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
	visitor := k.visitor()
	all := slices.Concat(callsOf(n, c), callsOf(k.stranger("", ""), c)[:1], operatorCalls(o, c.Name()), []call{
		{"Create", func(ctx context.Context) error { _, err := visitor.Create(ctx, k.cluster()); return err }},
		{"Inspect", func(ctx context.Context) error { _, err := visitor.Inspect(ctx); return err }},
	})
	for _, call := range all {
		var unserved *coord.NotServedError
		if err := call.run(k.Context()); !errors.As(err, &unserved) || *unserved != (coord.NotServedError{Cluster: n.uuid, Importing: importing}) || errors.Is(err, coord.ErrLost) {
			k.Errorf("%s: %v, want *NotServedError of %s, importing %v", call.name, err, n.uuid, importing)
		}
	}
}

// held is a cluster with a holder, which has extended its grant.
func (k *kit) held() (*node, coord.Claim) {
	k.Helper()
	return k.holder("a", 1, coord.Progress{Ceiling: 1000, Issued: 300})
}

func (k *kit) export() []byte { return must.Get(k.visitor().Export(k.Context()))(k) }

// moved has the cluster exported, and imported into an empty tree.
func (k *kit) moved() {
	k.Helper()
	file := k.export()
	k.wipe()
	must.Do(k, k.visitor().Import(k.Context(), file))
	k.made = true
}

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
	k.wants("Import where it was exported from", o.Import(k.Context(), first), coord.ErrNotEmpty)
}

func imported(k *kit) {
	k.ids, k.largest, k.floor = coord.WorkerRange{First: 1, Count: 6}, 600, 5
	n, c := k.held()
	o := k.operator()
	k.raise(o, 700)
	c = n.claim(wanting(c.Worker()))
	k.extend(c, coord.Progress{Ceiling: 2000, Issued: 800})
	other := k.start("b").claim(wanting(2)) // the first one may have got that
	k.extend(other, coord.Progress{Ceiling: 1500, Issued: 900})
	was, marks, history := must.Get(o.Inspect(k.Context()))(k), k.marks(o), k.history(o, c.Worker())
	k.moved()
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
	k.start("a").hold(c.Worker())
	if got := k.start("b").claim(anyone()); got.Worker() != other.Worker() || got.Floor() != 1500 {
		k.Errorf("a start of the other host got worker ID %d, floor %d; want %d, 1500", got.Worker(), got.Floor(), other.Worker())
	}
}

// importedAndRight has a tree emptied, imported into, and written by another holder of the same
// worker ID, until the record has the version again that the holder of before knows, or close to
// it.
func importedAndRight(k *kit) {
	for others := range 5 {
		n, c := k.held()
		k.moved()
		k.next(c.Worker(), others)
		before := k.stored()
		for _, name := range []string{"Extend", "Release"} {
			if err := named(callsOf(n, c), name).run(k.Context()); err == nil {
				k.Errorf("%s of before the import passed, behind %d writes of the next holder", name, others)
			}
		}
		if after := k.stored(); !reflect.DeepEqual(after, before) {
			k.Errorf("a claim of before the import wrote, behind %d writes of the next holder: from\n%+v to\n%+v", others, before, after)
		}
		Close(k, n)
		k.wipe()
	}
}

// next is another holder of the worker ID, who has written its record so many times.
func (k *kit) next(worker, times int) (*node, coord.Claim) {
	k.Helper()
	n := k.start("b")
	c := n.hold(worker)
	for range times {
		k.extend(c, coord.Progress{Ceiling: 3000, Issued: 2500})
	}
	return n, c
}

// An opening compares the version that its record had when the claim's node was made. Between the
// two the cluster is exported and imported, where versions may start over, and another opens the
// record.
func openedOverAnImport(k *kit) {
	for others := range 5 {
		n, c := k.held()
		k.release(c, 500)
		var theirs coord.Claim
		opened, err := n.Claim(k.Context(), atOpening(wanting(c.Worker()), func(worker int) {
			if theirs == nil {
				k.moved()
				_, theirs = k.next(worker, others)
			}
		}))
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
		k.wipe()
	}
}

func importRefused(k *kit) {
	k.held()
	file := k.export()
	k.wipe()
	o := k.visitor()
	for what, damaged := range map[string][]byte{
		"empty": nil, "cut": file[:len(file)/2], "two": append(bytes.Clone(file), file...), "another version": bytes.Replace(file, []byte("cluster-1"), []byte("cluster-2"), 1),
		"a digit": bytes.Replace(file, []byte(`"worker":1`), []byte(`"worker":2`), 1),
	} {
		k.wants(what, o.Import(k.Context(), damaged), coord.ErrExport)
	}
	_, err := o.Inspect(k.Context())
	k.wants("after a damaged export", err, coord.ErrNoCluster)
	must.Do(k, o.Import(k.Context(), file))
	c := k.start("b").hold(1)
	for range 2 {
		k.wants("imported twice", k.visitor().Import(k.Context(), file), coord.ErrNotEmpty)
	}
	k.extend(c, coord.Progress{Ceiling: 2000, Issued: 1100})
	if again := k.export(); bytes.Equal(again, file) {
		k.Error("what was granted after the import is not in its export")
	}
}

func importInterrupted(k *kit) {
	n, c := k.held()
	k.holder("b", 2, coord.Progress{Ceiling: 1500})
	first := k.export()
	k.moved()
	k.raise(k.operator(), 700)
	second := k.export()
	halves := 0
	k.eachFault(func(what string, arm func(coord.Coordinator) func() bool) bool {
		k.wipe()
		o := k.visitor()
		happened := arm(o)
		failure := o.Import(k.Context(), first)
		if !happened() {
			must.Do(k, failure)
			return false
		}
		var unserved *coord.NotServedError
		if _, err := k.visitor().Inspect(k.Context()); errors.As(err, &unserved) {
			halves++
			if !unserved.Importing || k.stranger("", "").join() == nil {
				k.Errorf("%s: a daemon joined what is half there: %v", what, err)
			}
			k.wants(what+": gone on with by another export", k.visitor().Import(k.Context(), second), coord.ErrNotEmpty)
			if _, err := k.visitor().Export(k.Context()); !errors.As(err, &unserved) {
				k.Errorf("%s: the half was exported: %v", what, err)
			}
		}
		// If its last write landed, it is done, and refused.
		if err := k.visitor().Import(k.Context(), first); err != nil && !errors.Is(err, coord.ErrNotEmpty) {
			k.Errorf("%s: run again: %v", what, err)
		}
		if got := k.marks(k.operator()); len(got) != 2 || got[0].Ceiling != 1000 || got[1].Ceiling != 1500 {
			k.Errorf("%s: run again, the marks are %+v", what, got)
		}
		return true
	})
	if halves < 3 {
		k.Errorf("%d imports were interrupted in the middle: the case shows nothing", halves)
	}
	if is := k.inspected().UUID; is != n.uuid {
		k.Errorf("the cluster was %s and is %s", n.uuid, is)
	}
	k.start("a").above(c.Worker(), 1000)
}
