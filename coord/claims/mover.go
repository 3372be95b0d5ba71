package claims

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/flakeward/flakeward/coord"
)

// moving is a part of the cluster record of a cluster that is being moved, or was.
type moving struct {
	Stage coord.Stage `json:"stage"` // Closed, Sealed or Left
	ID    string      `json:"id"`
	Peer  string      `json:"peer"`
	// Layout is the layout's text, which stands in its place again if the move is taken back. What
	// stands there meanwhile is no layout, so a daemon of a version that does not know of moves is
	// refused as well.
	Layout string `json:"layout,omitempty"`
}

// check reports what is wrong with it.
func (m *moving) check() error {
	switch m.Stage {
	case coord.Closed, coord.Sealed, coord.Left:
		return nil
	}
	return fmt.Errorf("%q is no stage of a move", m.Stage)
}

// place is what the cluster record says.
func (l layout) place() coord.Place {
	p := coord.Place{
		Stage: coord.Serving, UUID: l.UUID, Layout: l.Layout, Workers: l.Workers,
		Floor: l.Floor, ClusterEpoch: l.Epoch, Window: l.Window,
		Range: l.Range, Numbered: l.Numbered, Above: l.Above,
	}
	if l.Move != nil {
		p.Stage, p.Layout, p.Move, p.Peer = l.Move.Stage, l.Move.Layout, l.Move.ID, l.Move.Peer
	}
	return p
}

// layoutOf is the cluster record of a place.
func layoutOf(p coord.Place) layout {
	l := layout{
		Layout: p.Layout, UUID: p.UUID, Workers: p.Workers, Floor: p.Floor, Epoch: p.ClusterEpoch, Window: p.Window,
		Range: p.Range, Numbered: p.Numbered, Above: p.Above,
	}
	if p.Stage != coord.Serving {
		l.Layout = fmt.Sprintf("none: the cluster is moved, and this coordinator is %s; the other one is %s", p.Stage, p.Peer)
		l.Move = &moving{Stage: p.Stage, ID: p.Move, Peer: p.Peer, Layout: p.Layout}
	}
	return l
}

// served is an error unless the cluster record is of a cluster that is served here.
func (l layout) served() error {
	if l.Move == nil {
		return nil
	}
	return &coord.StageError{Place: l.place()}
}

// mover implements coord.Mover.
type mover struct{ c *Coordinator }

// Mover implements coord.Movable.
func (c *Coordinator) Mover() coord.Mover { return mover{c} }

// Place implements coord.Mover.
func (m mover) Place(ctx context.Context) (coord.Place, error) {
	p, _, err := m.look(ctx)
	return p, err
}

func (m mover) look(ctx context.Context) (coord.Place, Entry, error) {
	stored, err := m.c.store.Look(ctx)
	if err != nil || stored.Version == 0 {
		return coord.Place{}, stored, err
	}
	l, err := m.c.cluster.decodeLayout(stored)
	if err != nil {
		return coord.Place{}, stored, err
	}
	return l.place(), stored, nil
}

// raced is the error for a place that is not the one that was expected.
func (m mover) raced() error {
	return fmt.Errorf("%s: the cluster record %s has changed: %w", m.c.store.Name(), m.c.store.Path("layout"), coord.ErrRaced)
}

// at returns the cluster record of a place, if it is that.
func (m mover) at(ctx context.Context, want coord.Place) (Entry, error) {
	found, stored, err := m.look(ctx)
	if err == nil && found != want {
		err = m.raced()
	}
	return stored, err
}

// fenced makes of the error of a fenced request what coord.Mover says.
func (m mover) fenced(err error) error {
	if moved := (*MovedError)(nil); errors.As(err, &moved) {
		return m.raced()
	}
	return err
}

// Change implements coord.Mover.
func (m mover) Change(ctx context.Context, was, next coord.Place) error {
	stored, err := m.at(ctx, was)
	if err != nil {
		return err
	}
	value := encode(layoutOf(next))
	if was.Stage != coord.Absent {
		_, err = m.c.store.Replace(ctx, stored, value)
		return m.fenced(err)
	}
	made, err := m.c.store.Join(ctx, value)
	if err == nil && !bytes.Equal(made.Value, value) {
		err = m.raced()
	}
	return err
}

// Records implements coord.Mover.
func (m mover) Records(ctx context.Context, at coord.Place) ([]coord.Copy, error) {
	stored, err := m.at(ctx, at)
	if err != nil {
		return nil, err
	}
	tree, err := m.c.store.List(ctx, stored)
	if err != nil {
		return nil, m.fenced(err)
	}
	held := map[int]bool{}
	for _, n := range tree.Claims {
		if n.Worker == BySequence && at.Workers > 0 {
			n.Worker = m.c.cluster.clusterOf(layoutOf(at), stored).assign(n.Number)
		}
		held[n.Worker] = true
	}
	copies := make([]coord.Copy, 0, len(tree.Records))
	for _, worker := range slices.Sorted(maps.Keys(tree.Records)) {
		c := coord.Copy{Worker: worker, Record: tree.Records[worker].Value, Held: held[worker]}
		if r, err := decodeRecord(c.Record); err == nil { // one that is damaged is so there as well
			c.Ceiling = r.Ceiling
		}
		copies = append(copies, c)
	}
	return copies, nil
}

// History implements coord.Mover.
func (m mover) History(ctx context.Context, at coord.Place, c coord.Copy) (coord.Copy, error) {
	stored, err := m.at(ctx, at)
	if err != nil {
		return c, err
	}
	found, err := m.c.store.History(ctx, stored, c.Worker)
	if err != nil {
		return c, m.fenced(err)
	}
	if found.Version != 0 {
		c.History = found.Value
	}
	if list, err := decodeHistory(c.History); err == nil && len(list) > 0 {
		c.Host, c.Lane = list[len(list)-1].Host, list[len(list)-1].Lane
	}
	return c, nil
}

// Store implements coord.Mover. Every write of a record is fenced by a claim node, so it makes one,
// which the write deletes again. Older ones on the worker ID are void: one is of a move that was
// cut, or of a holder from before the cluster left, which the write makes lose the record. They are
// deleted first, as they would bar the worker ID until their sessions end.
func (m mover) Store(ctx context.Context, at coord.Place, c coord.Copy) error {
	stored, err := m.at(ctx, at)
	if err != nil {
		return err
	}
	token := m.c.random.token()
	m.c.nodes.use(token)
	made, err := m.c.store.Create(ctx, stored, Claimant{
		Worker: c.Worker, Token: token, Value: encode(member{Incarnation: m.c.identity.Incarnation}),
		// What numbers assign is not known here, so the claims that have one stay.
		Assign: func(uint64) int { return BySequence },
	})
	if err != nil {
		m.c.nodes.orphan(token)
		if errors.Is(err, ErrGone) { // another who stores the record deleted it
			return fmt.Errorf("%w: %w", coord.ErrRaced, err)
		}
		return m.fenced(err)
	}
	for _, void := range made.Before {
		if err := m.c.store.Delete(ctx, void.Name); err != nil {
			m.c.nodes.discard(ctx, made.Node)
			return err
		}
	}
	written, err := m.c.store.Write(ctx, stored, Write{
		Doing: "take a record in", Node: made.Node, Record: Entry{Value: c.Record, Version: made.Record.Version},
		Host: c.Host, Lane: c.Lane, History: Entry{Value: c.History, Version: made.History.Version}, Delete: true,
	})
	if err == nil && written.Stored {
		m.c.nodes.unuse(token)
		return nil
	}
	m.c.nodes.discard(ctx, made.Node)
	return cmp.Or(m.fenced(err), fmt.Errorf("%s: the record of worker ID %d is written by another as well: %w", m.c.store.Name(), c.Worker, coord.ErrRaced))
}
