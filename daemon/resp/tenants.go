package resp

import (
	"maps"
	"slices"

	"github.com/flakeward/flakeward/internal/nearest"
)

// Tenant reads a tenant that a client named, by its name or by its number, of which there is a
// highest.
func Tenant(named map[string]uint64, highest uint64, b []byte) (uint32, *Refusal) {
	if number, ok := named[string(b)]; ok {
		return uint32(number), nil
	}
	n, ok := number(b)
	switch {
	case ok && n <= highest:
		return uint32(n), nil
	case !ok && len(named) > 0:
		if near, ok := nearest.Name(string(b), slices.Sorted(maps.Keys(named))); ok {
			return 0, Refuse(UnknownTenant, shown(b), "did you mean '"+near+"'?")
		}
		return 0, Refuse(UnknownTenant, shown(b), "the daemon's configuration has the names")
	case highest == 0:
		return 0, Refuse(NoTenants, shown(b))
	}
	return 0, Refuse(BadTenant, shown(b), highest)
}
