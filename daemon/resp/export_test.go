package resp

// Tally is what a handler has counted in all.
type Tally struct{ Requests, IDs, Errors, Burnt, Rounded uint64 }

// Tally publishes and reads it.
func (h *Handler) Tally() (t Tally) {
	Publish(h)
	t.Requests, t.Errors, t.IDs = h.counts.table.Snapshot().Totals()
	t.Burnt, t.Rounded = h.counts.table.Burnt.Load(), h.counts.table.Rounded.Load()
	return t
}
