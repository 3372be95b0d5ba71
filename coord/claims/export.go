package claims

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/flakeward/flakeward/coord"
)

// exportFormat names the format of export.
const exportFormat = "flakeward-cluster-1"

// export is a whole cluster, as JSON. All of it is as stored, so a damaged record stays one.
type export struct {
	Format  string          `json:"format"`
	Sum     string          `json:"sha256"` // of the export without it
	Cluster json.RawMessage `json:"cluster"`
	Workers []exported      `json:"workers"`
}

// exported is a worker ID with its record and history.
type exported struct {
	Worker  int    `json:"worker"`
	Record  []byte `json:"record"`
	History []byte `json:"history,omitempty"`
}

// sum is what Sum says of a whole export.
func (e export) sum() string {
	e.Sum = ""
	sum := sha256.Sum256(encode(e))
	return hex.EncodeToString(sum[:])
}

// decodeExport returns an export with its cluster record, if it is whole.
func decodeExport(b []byte) (export, layout, error) {
	var e export
	var l layout
	err := decode(b, &e)
	switch {
	case err != nil:
	case e.Format != exportFormat:
		err = fmt.Errorf("its format is %q and not %q", e.Format, exportFormat)
	case e.Sum != e.sum():
		err = errors.New("its sha256 is another one")
	default:
		l, err = decodeLayout(e.Cluster)
	}
	last := -1
	for _, w := range e.Workers {
		if err == nil && (w.Worker <= last || w.Worker >= coord.MaxWorkers) {
			err = fmt.Errorf("worker ID %d does not follow %d", w.Worker, last)
		}
		last = w.Worker
	}
	if err == nil && l.served() != nil {
		err = errors.New("its cluster record is of no cluster that is served")
	}
	if err != nil {
		return export{}, layout{}, fmt.Errorf("%w: %w; export the cluster again", coord.ErrExport, err)
	}
	return e, l, nil
}

// served is an error unless the cluster record is of a cluster that is served here.
func (l layout) served() error {
	if !l.Exported && l.Importing == "" {
		return nil
	}
	return &coord.NotServedError{Cluster: l.UUID, Importing: l.Importing != ""}
}

// Export implements coord.Operator. Every write of a daemon compares the cluster record, so none of
// a record comes after that was replaced: what is read then is final.
func (c *Coordinator) Export(ctx context.Context) ([]byte, error) {
	stored, l, err := c.seal(ctx)
	if err != nil {
		return nil, err
	}
	l.Exported = false
	records, err := c.records(ctx, stored)
	if err != nil {
		return nil, err
	}
	e := export{Format: exportFormat, Cluster: encode(l), Workers: []exported{}}
	for _, worker := range slices.Sorted(maps.Keys(records)) {
		history, err := c.store.Read(ctx, stored, HistoryOf(worker))
		if err != nil {
			return nil, err
		}
		e.Workers = append(e.Workers, exported{Worker: worker, Record: records[worker].Value, History: history.Value})
	}
	e.Sum = e.sum()
	return append(encode(e), '\n'), nil
}

// seal writes into the cluster record that the cluster was exported, unless that is there.
func (c *Coordinator) seal(ctx context.Context) (Entry, layout, error) {
	for {
		stored, err := c.store.Look(ctx)
		if err == nil && stored.Version == 0 {
			err = fmt.Errorf("%s: %s: %w", c.store.Name(), c.store.Path(ClusterKey), coord.ErrNoCluster)
		}
		if err != nil {
			return Entry{}, layout{}, err
		}
		l, err := c.cluster.decodeLayout(stored)
		if err != nil || l.Exported {
			return stored, l, err
		}
		if err := l.served(); err != nil {
			return Entry{}, layout{}, fmt.Errorf("%s: %w", c.store.Name(), err)
		}
		l.Exported, l.Identity = true, c.random.token()
		sealed, err := c.store.Replace(ctx, stored, encode(l))
		if moved := (*MovedError)(nil); errors.As(err, &moved) && ctx.Err() == nil {
			continue // another has changed it first
		}
		return sealed, l, err
	}
}

// together is how many records are imported at once.
const together = 32

// Import implements coord.Operator. Until all records are there, the cluster record says that the
// export is being imported, and nobody joins.
func (c *Coordinator) Import(ctx context.Context, file []byte) error {
	e, l, err := decodeExport(file)
	if err != nil {
		return err
	}
	// The identity makes it another cluster record than each one before: a late write of a daemon
	// that knows an earlier one, in a tree that was here, does not fit.
	l.Importing, l.Identity = e.Sum, c.random.token()
	stored, err := c.store.Make(ctx, encode(l))
	if err != nil {
		return err
	}
	notEmpty := func(what string, args ...any) error {
		return fmt.Errorf("%s: %w: %s", c.store.Name(), coord.ErrNotEmpty, fmt.Sprintf(what, args...))
	}
	if l, err = c.cluster.decodeLayout(stored); err != nil {
		return err
	}
	switch {
	case l.Importing == e.Sum:
	case l.Importing != "":
		return notEmpty("it holds a part of another export of cluster %s", l.UUID)
	default:
		return notEmpty("it holds cluster %s", l.UUID) // maybe this one: the answer to the last write was lost
	}
	there, err := c.records(ctx, stored)
	if err != nil {
		return err
	}
	missing := []exported{}
	for _, w := range e.Workers {
		if found := there[w.Worker]; found.Version == 0 {
			missing = append(missing, w)
		} else if !bytes.Equal(found.Value, w.Record) {
			return notEmpty("it holds another record of worker ID %d", w.Worker)
		}
		delete(there, w.Worker)
	}
	if len(there) > 0 {
		return notEmpty("it holds %d records that are not of the export", len(there))
	}
	writers, writing := errgroup.WithContext(ctx)
	writers.SetLimit(together)
	for _, w := range missing {
		writers.Go(func() error { return c.importRecord(writing, stored, w) })
	}
	if err := writers.Wait(); err != nil {
		return err
	}
	l.Importing, l.Identity = "", c.random.token()
	_, err = c.store.Replace(ctx, stored, encode(l))
	return err
}

// importRecord stores a record that is not there.
func (c *Coordinator) importRecord(ctx context.Context, at Entry, w exported) error {
	write := Write{Doing: "import a record", Worker: w.Worker, Record: Entry{Value: w.Record}, History: Entry{Value: w.History}}
	if list, err := decodeHistory(w.History); err == nil && len(list) > 0 {
		write.Host = list[len(list)-1].Host
	}
	written, err := c.store.Write(ctx, at, write)
	if err == nil && !written.Stored {
		err = fmt.Errorf("%s: worker ID %d: another import writes it, or its history is there without a record; run it again, or empty the prefix before", c.store.Name(), w.Worker)
	}
	return err
}
