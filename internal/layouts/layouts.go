// Package layouts says what there is to know about a layout: to people, and as JSON.
package layouts

import (
	"slices"
	"strings"
	"time"

	"github.com/flakeward/flakeward/generator"
)

// Facts are what there is to know about a layout at an instant.
type Facts struct {
	Name         string    `json:"name,omitempty"` // of the preset, when listed
	Layout       string    `json:"layout"`         // full form
	Tick         string    `json:"tick"`
	Fields       []Field   `json:"fields"`  // highest bits first
	Bits         int       `json:"bits"`    // of all fields together
	Workers      int       `json:"workers"` // worker IDs there are
	IDsPerTick   uint64    `json:"ids_per_tick"`
	IDsPerSecond float64   `json:"ids_per_second"` // of one worker ID
	Begins       time.Time `json:"begins"`
	Ends         time.Time `json:"ends"`
	YearsLeft    float64   `json:"years_left"`
	SortsByTime  bool      `json:"sorts_by_time"`
	Issues       bool      `json:"issues"` // whether IDs can be issued at this instant

	Problem error `json:"-"` // why not, if not
}

// Field is one field: value << shift is its part of an ID.
type Field struct {
	Field   string `json:"field"`
	Bits    int    `json:"bits"`
	Shift   int    `json:"shift"`
	Highest uint64 `json:"highest"`
}

// Of reckons them.
func Of(layout *generator.Layout, now time.Time) Facts {
	tick := layout.TickLength()
	f := Facts{
		Layout:     layout.String(),
		Tick:       tick.String(),
		Workers:    layout.Workers(),
		IDsPerTick: layout.Max(generator.Sequence) + 1,
		Begins:     layout.Epoch(),
		Ends:       layout.End(),
		YearsLeft:  layout.YearsLeft(now),
		Problem:    layout.CheckTime(now),
	}
	f.IDsPerSecond = float64(f.IDsPerTick) / tick.Seconds()
	f.Issues = f.Problem == nil
	for _, field := range append([]generator.Field{generator.Time}, Numbers(layout)...) {
		f.Bits += layout.Bits(field)
		f.Fields = append(f.Fields, Field{Field: field.String(), Bits: layout.Bits(field), Highest: layout.Max(field)})
	}
	place := func(of Field) int { return strings.Index(f.Layout, of.Field+"=") } // the full form has them in order
	slices.SortFunc(f.Fields, func(a, b Field) int { return place(a) - place(b) })
	shift := f.Bits
	for i := range f.Fields {
		shift -= f.Fields[i].Bits
		f.Fields[i].Shift = shift
	}
	f.SortsByTime = f.Fields[0].Field == generator.Time.String()
	return f
}
