package resp_test

import (
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// named is a handler whose tenants 3 and 0 have names.
func named(t *testing.T, source resp.Source) *resp.Handler {
	t.Helper()
	l := must.Get(generator.ParseLayout("time=41@1ms,worker=8,tenant=4,sequence=10;epoch=2020-01-01"))(t)
	return resp.NewHandler(resp.Config{Source: source, Layout: l, Tenants: map[string]uint64{"orders": 3, "rest": 0}})
}

func TestATenantIsAskedForByItsName(t *testing.T) {
	source := &ticks{}
	h := named(t, source)
	for in, want := range map[string]uint32{
		"NEXT TENANT orders\r\n": 3, "NEXT 5 TENANT orders\r\n": 3, "RUN 2 tenant orders\r\n": 3, "NEXT TENANT 15\r\n": 15, "NEXT\r\n": 0, "NEXT TENANT rest\r\n": 0,
		"*4\r\n$4\r\nNEXT\r\n$1\r\n2\r\n$6\r\nTENANT\r\n$6\r\norders\r\n": 3,
	} {
		source.tenant = 99
		if out, _ := ask(h, in); source.tenant != want || strings.HasPrefix(out, "-") {
			t.Errorf("%q: tenant %d, %q; want %d", in, source.tenant, out, want)
		}
	}
}

func TestAnUnknownNameOfATenantIsAnsweredWithTheNearest(t *testing.T) {
	h := named(t, &ticks{})
	for in, want := range map[string]string{
		"NEXT 5 TENANT order\r\n":     "-ERR there is no tenant 'order': did you mean 'orders'?\r\n",
		"NEXT 5 TENANT ORDERS\r\n":    "-ERR there is no tenant 'ORDERS': did you mean 'orders'?\r\n",
		"RUN 5 TENANT invoices\r\n":   "-ERR there is no tenant 'invoices': the daemon's configuration has the names\r\n",
		"NEXT 5 TENANT \"a\\nb\"\r\n": "-ERR there is no tenant 'a?b': the daemon's configuration has the names\r\n",
		"NEXT TENANT 16\r\n":          "-ERR the tenant '16' is not a whole number from 0 to 15\r\n",
	} {
		if out, _ := ask(h, in); out != want {
			t.Errorf("%q: %q, want %q", in, out, want)
		}
	}
}
