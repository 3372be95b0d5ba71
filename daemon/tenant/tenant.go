// Package tenant knows the tenants that the configuration names: their numbers, which are in the
// IDs, their rates, and the forms of their IDs.
package tenant

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/nearest"
)

// Tenant is one tenant of the configuration.
type Tenant struct {
	Name string     // 1 to MaxName letters, digits, hyphens, underscores and dots; the first is a letter
	ID   uint64     // the number in the layout's tenant field
	Rate issue.Rate // how many IDs it may take on this host; zero: any number
	Form string     // the name of the form that its IDs have unless a request asks for another; empty: the connection's
	At   string     // where it was configured, such as flakeward.yaml:12, for errors; may be empty
}

// MaxName is the longest name, in bytes.
const MaxName = 64

// Tenants are those of one daemon, in the order of their numbers. They do not change. Nil has none.
type Tenants struct {
	byID   []Tenant
	byName map[string]uint32
	forms  map[uint32]form.Form // of those that have one
}

// New checks the tenants against the layout. All that is wrong is said at once, each with its place.
func New(layout *generator.Layout, list []Tenant) (*Tenants, error) {
	if len(list) == 0 {
		return nil, nil
	}
	all := &Tenants{byID: slices.Clone(list), byName: make(map[string]uint32, len(list)), forms: make(map[uint32]form.Form)}
	slices.SortStableFunc(all.byID, func(a, b Tenant) int { return cmp.Compare(a.ID, b.ID) })
	var errs []error
	numbers := make(map[uint64]string, len(list))
	for _, t := range list {
		if err := t.check(layout); err != nil {
			errs = append(errs, t.Wrong(err))
		}
		if t.Form != "" {
			f, err := form.Named(t.Form)
			if err != nil {
				errs = append(errs, t.Wrong(err))
			}
			all.forms[uint32(t.ID)] = f
		}
		if _, twice := all.byName[t.Name]; twice {
			errs = append(errs, t.Wrong(errors.New("the name is given twice: remove one")))
		}
		if other, twice := numbers[t.ID]; twice {
			errs = append(errs, t.Wrong(fmt.Errorf("its id %d is that of %s, too: give each tenant its own", t.ID, other)))
		}
		all.byName[t.Name], numbers[t.ID] = uint32(t.ID), t.Name
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return all, nil
}

// check says what is wrong with one tenant alone.
func (t Tenant) check(layout *generator.Layout) error {
	switch highest := layout.Max(generator.Tenant); {
	case !validName(t.Name):
		return fmt.Errorf("the name is not 1 to %d letters, digits, hyphens, underscores and dots that begin with a letter", MaxName)
	case t.ID > highest && highest == 0:
		return fmt.Errorf("its id is %d, but the layout %s has no tenant field: take a layout with one", t.ID, layout)
	case t.ID > highest:
		return fmt.Errorf("its id %d does not fit the layout's %d tenant bits: the highest is %d", t.ID, layout.Bits(generator.Tenant), highest)
	}
	return nil
}

// Wrong is an error about the tenant, with its place.
func (t Tenant) Wrong(err error) error {
	err = fmt.Errorf("tenant %q: %w", t.Name, err)
	if t.At != "" {
		err = fmt.Errorf("%s: %w", t.At, err)
	}
	return err
}

// validName reports whether a name can be told from a number, and stand in a line of INFO.
func validName(name string) bool {
	for i, c := range []byte(name) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && !strings.ContainsRune("-_.", rune(c))) {
			return false
		}
	}
	return name != "" && len(name) <= MaxName
}

// Find returns the number of a name. It allocates nothing.
func (all *Tenants) Find(name []byte) (id uint32, ok bool) {
	if all == nil {
		return 0, false
	}
	id, ok = all.byName[string(name)]
	return id, ok
}

// Form returns the form that the IDs of a tenant's number have, or or, where it has none of its own.
func (all *Tenants) Form(id uint32, or form.Form) form.Form {
	if all != nil {
		if f, ok := all.forms[id]; ok {
			return f
		}
	}
	return or
}

// Of returns the tenant of a number, if it has a name.
func (all *Tenants) Of(id uint64) (t Tenant, ok bool) {
	if all == nil {
		return Tenant{}, false
	}
	at, ok := slices.BinarySearchFunc(all.byID, id, func(t Tenant, id uint64) int { return cmp.Compare(t.ID, id) })
	if !ok {
		return Tenant{}, false
	}
	return all.byID[at], true
}

// All returns the tenants in the order of their numbers. They must not be changed.
func (all *Tenants) All() []Tenant {
	if all == nil {
		return nil
	}
	return all.byID
}

// Nearest returns the name that a misspelt one most likely stands for.
func (all *Tenants) Nearest(name string) (near string, ok bool) {
	var names []string
	for _, t := range all.All() {
		names = append(names, t.Name)
	}
	return nearest.Name(name, names)
}

// Rates are the rates of those that have one, by their numbers.
func (all *Tenants) Rates() map[uint32]issue.Rate {
	rates := make(map[uint32]issue.Rate)
	for _, t := range all.All() {
		if t.Rate != (issue.Rate{}) {
			rates[uint32(t.ID)] = t.Rate
		}
	}
	return rates
}
