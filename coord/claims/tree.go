package claims

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/flakeward/flakeward/coord"
)

// tree is all claims and records as of one moment.
type tree struct {
	cluster *cluster
	owners  map[int]Node // by worker ID: the claim that was created first
	records map[int]record
	damaged map[int]bool // worker IDs whose records cannot be read
}

// list reads the tree.
func (c *Coordinator) list(ctx context.Context) (tree, error) {
	t := tree{owners: map[int]Node{}, records: map[int]record{}, damaged: map[int]bool{}}
	var found Tree
	err := c.cluster.inCluster(ctx, func(j *cluster) (err error) {
		t.cluster = j
		found, err = c.store.List(ctx, j.entry)
		return err
	})
	if err != nil {
		return tree{}, err
	}
	for _, n := range found.Claims {
		if n.Worker == BySequence {
			if t.cluster.workers == 0 && t.cluster.numbers.Count == 0 {
				continue // an operator does not know what its number assigns
			}
			n.Worker = t.cluster.assign(n.Number)
		}
		first, ok := t.owners[n.Worker]
		if !ok || n.Created < first.Created {
			t.owners[n.Worker] = n
		}
	}
	for _, worker := range slices.Sorted(maps.Keys(found.Records)) { // in order, as what is logged is
		r, err := readRecord(c.store, worker, found.Records[worker])
		if err != nil {
			t.damaged[worker] = true
			c.log.Error("a worker ID is not assigned", "worker", worker, "error", err)
			continue
		}
		t.records[worker] = r
	}
	return t, nil
}

// readRecord names a record that cannot be read.
func readRecord(store Store, worker int, stored Entry) (record, error) {
	r, err := decodeRecord(stored.Value)
	if err != nil {
		path := store.Path(fmt.Sprintf("workers/%d", worker))
		return record{}, fmt.Errorf("%s: the record %s cannot be read and is not overwritten; put it back with a ceiling that is late enough: %w (%w)", store.Name(), path, errDamaged, err)
	}
	return r, nil
}

// Members implements coord.Coordinator and coord.Operator.
func (c *Coordinator) Members(ctx context.Context) ([]coord.Member, error) {
	t, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	members := make([]coord.Member, 0, len(t.owners))
	for _, worker := range slices.Sorted(maps.Keys(t.owners)) {
		if !t.cluster.inLayout(worker) {
			continue
		}
		owner, r := t.owners[worker], t.records[worker]
		who, err := decodeMember(owner.Value)
		if err != nil {
			c.log.Warn("a claim's value is damaged: its member is shown without a name", "claim", owner.Name, "error", err)
		}
		m := coord.Member{
			Worker: worker, Host: who.Host, PID: who.PID, Incarnation: who.Incarnation, Version: who.Version, Boot: who.Boot,
			Claim: owner.Name, Since: since(who.Since), Ceiling: t.cluster.found(r).Ceiling, Issued: r.Issued, Time: r.Time,
		}
		if r.Claim == owner.Name {
			m.Opening = r.Holder
		}
		members = append(members, m)
	}
	return members, nil
}
