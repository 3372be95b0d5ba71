package resp

import "github.com/flakeward/flakeward/daemon/tenant"

// tenantOf reads a tenant: its number, or the name that the configuration gives it.
func (h *Handler) tenantOf(b []byte) (uint32, *Refusal) {
	return Tenant(h.config.Tenants, h.tenants, b)
}

// Tenant reads a tenant that a client named, by its name or by its number, of which there is a
// highest.
func Tenant(named *tenant.Tenants, highest uint64, b []byte) (uint32, *Refusal) {
	if id, ok := named.Find(b); ok {
		return id, nil
	}
	n, ok := number(b)
	switch {
	case ok && n <= highest:
		return uint32(n), nil
	case !ok && len(named.All()) > 0:
		if near, ok := named.Nearest(string(b)); ok {
			return 0, Refuse(UnknownTenant, shown(b), "did you mean '"+near+"'?")
		}
		return 0, Refuse(UnknownTenant, shown(b), "INFO tenants and /v1/status have those that have names")
	case highest == 0:
		return 0, Refuse(NoTenants, shown(b))
	}
	return 0, Refuse(BadTenant, shown(b), highest)
}
