package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/layouts"
)

func explainCommand(own paths, out *outside) *urfave.Command {
	flags := newOperatorFlags(own, out)
	return withConfig(&urfave.Command{
		Name:      "explain",
		Usage:     "show which host, and which run of its daemon, issued an ID",
		ArgsUsage: "ID... (or -, to read them from standard input)",
		Description: "Decodes IDs by the cluster's own layout. The coordinator keeps the last holders of each worker ID; older holders are not\n" +
			"known. A holder at a tick does not prove that the ID was issued. It proves that nobody else issued it.\n" +
			formSource + "\n" +
			fmt.Sprintf("Exits with status 0 if each ID has a known holder, %d if one has none, %d if one is not an ID.\n", ExitUnknown, ExitFailed) +
			coordinatorSource,
		Flags: append(flags.flags(), asFlag("read the IDs in this `FORM`"), jsonFlag("print one JSON object per line")),
		Action: func(c *urfave.Context) error {
			words, err := wordsOf(c)
			if err != nil {
				return err
			}
			return flags.with(c, func(v *inspection) error {
				ids, err := newIDs(c, v.cluster.Layout, v.cluster.UUID)
				if err != nil {
					return err
				}
				e := explainer{inspection: v, ids: ids, json: c.Bool(jsonName), out: bufio.NewWriter(c.App.Writer)}
				err = words.each(func(word string, rounded bool) (wrong, err error) { return e.take(c.Context, word, rounded) })
				err = errors.Join(err, e.explain(c.Context))
				if flushing := e.out.Flush(); flushing != nil && err == nil {
					err = fmt.Errorf("writing what was found: %w", flushing)
				}
				switch {
				case err != nil:
					return err
				case words.wrong > 0:
					return words.verdict("decoded")
				case e.vague > 0:
					return fmt.Errorf("%w for %d of %d IDs", errUnknown, e.vague, e.known+e.vague)
				}
				return nil
			})
		},
	})
}

// explainer explains IDs in batches: what the coordinator says of a worker ID is
// true of an ID if it was asked after the ID was there.
type explainer struct {
	*inspection
	ids  *ids
	json bool
	out  *bufio.Writer

	batch        []issued
	known, vague int
}

// issued is an ID that is to be explained.
type issued struct {
	id      int64
	parts   generator.Parts
	rounded bool // it may be
}

// largestBatch bounds the IDs that wait to be explained.
const largestBatch = 4096

// take takes one ID apart. The error is of the batch that it completes.
func (e *explainer) take(ctx context.Context, word string, rounded bool) (wrong, err error) {
	id, parts, wrong := e.ids.parse(word)
	if wrong != nil {
		return wrong, nil
	}
	e.batch = append(e.batch, issued{id, parts, rounded})
	if len(e.batch) < largestBatch {
		return nil, nil
	}
	return nil, e.explain(ctx)
}

// explain explains the batch and begins another one.
func (e *explainer) explain(ctx context.Context) error {
	if len(e.batch) == 0 {
		return nil
	}
	batch := e.batch
	e.batch = e.batch[:0]
	all, err := asked(ctx, e.inspection, e.Marks)
	if err != nil {
		return err
	}
	marks := make(map[uint64]*coord.Mark, len(all))
	for i := range all {
		marks[uint64(all[i].Worker)] = &all[i]
	}
	histories := make(map[uint64][]coord.HolderInterval)
	for _, i := range batch {
		worker := i.parts.Worker
		history, found := histories[worker]
		if !found && worker < uint64(e.cluster.Workers) {
			history, err = asked(ctx, e.inspection, func(ctx context.Context) ([]coord.HolderInterval, error) { return e.History(ctx, int(worker)) })
			if err != nil {
				return err
			}
			histories[worker] = history
		}
		if err := e.print(i, e.cluster.Holder(i.parts, marks[worker], history)); err != nil {
			return fmt.Errorf("writing what was found: %w", err)
		}
	}
	return nil
}

// explained is an ID and its holder as JSON. What is not known is null.
type explained struct {
	layouts.Decoded
	Verdict     cluster.Verdict `json:"verdict"`
	Host        *string         `json:"host"`
	Incarnation *string         `json:"incarnation"`
	Claim       *string         `json:"claim"`
	Opening     *string         `json:"opening"`
	Version     *string         `json:"version"`
	Since       *string         `json:"since"`     // by the host's clock
	FromTick    *generator.Tick `json:"from_tick"` // the opening issued above it
	Note        *string         `json:"note"`
}

func (e *explainer) print(i issued, found cluster.Finding) error {
	if found.Verdict == cluster.Held {
		e.known++
	} else {
		e.vague++
	}
	if e.json {
		return json.NewEncoder(e.out).Encode(e.object(i, found))
	}
	if e.known+e.vague > 1 {
		fmt.Fprintln(e.out)
	}
	table := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	row := func(name string, value any) { fmt.Fprintf(table, "%s\t%v\n", name, value) }
	row("id", i.id)
	row("time", i.parts.Time.Format(layouts.TimeFormat(e.ids.layout)))
	row("tick", i.parts.Tick)
	for _, f := range layouts.Numbers(e.ids.layout) {
		row(f.String(), i.parts.Value(f))
	}
	if t := found.Interval; t != nil {
		row("host", cluster.Plain(t.Host))
		row("incarnation", cluster.Plain(t.Incarnation))
		row("claim", cluster.Plain(t.Claim))
		row("version", cluster.Plain(t.Version))
		if !t.Since.IsZero() {
			row("since", cluster.Time(t.Since))
		}
	} else {
		row("host", "not known")
	}
	if found.Note != "" {
		row("note", found.Note)
	}
	if i.rounded {
		row("may be rounded", form.Rounded)
	}
	return table.Flush()
}

func (e *explainer) object(i issued, found cluster.Finding) explained {
	o := explained{Decoded: layouts.Decode(e.ids.layout, i.id, i.parts, i.rounded), Verdict: found.Verdict}
	if found.Note != "" {
		o.Note = &found.Note
	}
	if t := found.Interval; t != nil {
		o.Host, o.Incarnation, o.Claim, o.Opening, o.Version = &t.Host, &t.Incarnation, &t.Claim, &t.Opening, &t.Version
		o.FromTick = &t.From
		if !t.Since.IsZero() {
			o.Since = cluster.Stamp(t.Since)
		}
	}
	return o
}
