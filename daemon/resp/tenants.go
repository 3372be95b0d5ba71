package resp

// Tenant reads the number of a tenant, of which there is a highest.
func Tenant(highest uint64, b []byte) (uint32, *Refusal) {
	n, ok := number(b)
	switch {
	case ok && n <= highest:
		return uint32(n), nil
	case highest == 0:
		return 0, Refuse(NoTenants, shown(b))
	}
	return 0, Refuse(BadTenant, shown(b), highest)
}
