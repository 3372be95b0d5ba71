package resp_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/tenant"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// named is a handler whose tenants 3 and 0 have names.
func named(t *testing.T, source resp.Source) *resp.Handler {
	t.Helper()
	l := must.Get(generator.ParseLayout("time=41@1ms,worker=8,tenant=4,sequence=10;epoch=2020-01-01"))(t)
	tenants := must.Get(tenant.New(l, []tenant.Tenant{{Name: "orders", ID: 3}, {Name: "rest", ID: 0}, {Name: "mail", ID: 5, Form: "base62"}}))(t)
	return resp.NewHandler(resp.Config{Source: source, Layout: l, Tenants: tenants})
}

func TestATenantIsAskedForByItsName(t *testing.T) {
	source := &ticks{}
	h := named(t, source)
	for in, want := range map[string]uint32{
		"NEXT TENANT orders\r\n": 3, "NEXT 5 TENANT orders\r\n": 3, "RUN 2 tenant orders\r\n": 3, "NEXT TENANT 4\r\n": 4, "NEXT TENANT rest\r\n": 0,
		"*4\r\n$4\r\nNEXT\r\n$1\r\n2\r\n$6\r\nTENANT\r\n$6\r\norders\r\n": 3,
	} {
		source.tenant = 99
		if out, _ := ask(h, in); source.tenant != want || strings.HasPrefix(out, "-") {
			t.Errorf("%q: tenant %d, %q; want %d", in, source.tenant, out, want)
		}
	}
}

// A request without a tenant is for tenant 0, so it has that one's form, alone, in a pipeline, and
// in a transaction.
func TestARequestWithoutATenantHasTheFormOfTenant0(t *testing.T) {
	l := must.Get(generator.ParseLayout("flakeward"))(t)
	tenants := must.Get(tenant.New(l, []tenant.Tenant{{Name: "rest", Form: "base62"}}))(t)
	h := resp.NewHandler(resp.Config{Source: &ticks{}, Layout: l, Tenants: tenants})
	const plain = "*1\r\n$4\r\nNEXT\r\n"
	for in, want := range map[string]string{
		plain: "$11\r\n", "NEXT\r\n": "$11\r\n", "NEXT 2\r\n": "*2\r\n$11\r\n", "FORM string\r\n" + plain: "+OK\r\n$11\r\n", "NEXT AS integer\r\n": ":",
		"MULTI\r\n" + plain + "EXEC\r\n": "+OK\r\n+QUEUED\r\n*1\r\n$11\r\n", "RUN 2\r\n": "*3\r\n:",
	} {
		if out, _ := ask(h, in); !strings.HasPrefix(out, want) {
			t.Errorf("%q: %q, want %q", in, out, want)
		}
	}
}

// A tenant's form comes before the connection's, and AS before both.
func TestATenantHasAFormOfItsOwn(t *testing.T) {
	h := named(t, &ticks{})
	for in, want := range map[string]string{
		"NEXT TENANT mail\r\n": "$11\r\n", "NEXT TENANT 5\r\n": "$11\r\n", "NEXT TENANT mail AS string\r\n": "$1\r\n", "NEXT TENANT orders\r\n": ":",
		"FORM string\r\nNEXT TENANT mail\r\n": "+OK\r\n$11\r\n", "RUN 2 TENANT mail\r\n": "*3\r\n:",
	} {
		if out, _ := ask(h, in); !strings.HasPrefix(out, want) {
			t.Errorf("%q: %q, want %q", in, out, want)
		}
	}
}

func TestAnUnknownNameOfATenantIsAnsweredWithTheNearest(t *testing.T) {
	h := named(t, &ticks{})
	for in, want := range map[string]string{
		"NEXT 5 TENANT order\r\n":     "-ERR there is no tenant 'order': did you mean 'orders'?\r\n",
		"NEXT 5 TENANT ORDERS\r\n":    "-ERR there is no tenant 'ORDERS': did you mean 'orders'?\r\n",
		"RUN 5 TENANT invoices\r\n":   "-ERR there is no tenant 'invoices': INFO tenants and /v1/status have those that have names\r\n",
		"NEXT 5 TENANT \"a\\nb\"\r\n": "-ERR there is no tenant 'a?b': INFO tenants and /v1/status have those that have names\r\n",
		"NEXT TENANT 16\r\n":          "-ERR the tenant '16' is not a whole number from 0 to 15\r\n",
	} {
		if out, _ := ask(h, in); out != want {
			t.Errorf("%q: %q, want %q", in, out, want)
		}
	}
}

func TestDECODEShowsATenantsName(t *testing.T) {
	h := named(t, &ticks{})
	for tenant, want := range map[int]string{3: "$11\r\ntenant_name\r\n$6\r\norders\r\n", 0: "$11\r\ntenant_name\r\n$4\r\nrest\r\n"} {
		id := 1<<22 | tenant<<10
		if out, _ := ask(h, "DECODE "+strconv.Itoa(id)+"\r\n"); !strings.HasSuffix(out, want) || !strings.HasPrefix(out, "*14\r\n") {
			t.Errorf("tenant %d: %q", tenant, out)
		}
	}
	if out, _ := ask(h, "DECODE "+strconv.Itoa(1<<22|4<<10)+"\r\n"); strings.Contains(out, "tenant_name") || !strings.HasPrefix(out, "*12\r\n") {
		t.Errorf("a tenant without a name: %q", out)
	}
}
