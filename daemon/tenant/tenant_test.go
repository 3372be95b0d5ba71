package tenant_test

import (
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/tenant"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

func layout(t testing.TB, text string) *generator.Layout {
	t.Helper()
	return must.Get(generator.ParseLayout(text))(t)
}

const tenanted = "time=41@1ms,worker=6,tenant=4,sequence=12;epoch=2026-01-01"

func TestTenantsAreFoundByNameAndNumber(t *testing.T) {
	all, err := tenant.New(layout(t, tenanted), []tenant.Tenant{
		{Name: "orders", ID: 15, Rate: issue.Rate{PerSecond: 1000, Burst: 10}}, {Name: "mail.eu-1_a", ID: 3}, {Name: "rest", ID: 0},
	})
	must.Do(t, err)
	for name, want := range map[string]uint32{"orders": 15, "mail.eu-1_a": 3, "rest": 0} {
		if id, ok := all.Find([]byte(name)); !ok || id != want {
			t.Errorf("%s is %d, %v; want %d", name, id, ok, want)
		}
		if of, ok := all.Of(uint64(want)); !ok || of.Name != name {
			t.Errorf("%d is %+v, %v; want %s", want, of, ok, name)
		}
	}
	for _, name := range []string{"Orders", "order", "15", ""} {
		if id, ok := all.Find([]byte(name)); ok {
			t.Errorf("%q is %d", name, id)
		}
	}
	if of, ok := all.Of(1 << 40); ok {
		t.Errorf("2^40 is %+v", of)
	}
	if near, ok := all.Nearest("odrers"); !ok || near != "orders" {
		t.Errorf("odrers is nearest to %q", near)
	}
	if list := all.All(); len(list) != 3 || list[0].Name != "rest" || list[2].Name != "orders" {
		t.Errorf("they are %+v", list)
	}
	if rates := all.Rates(); len(rates) != 1 || rates[15].PerSecond != 1000 {
		t.Errorf("their rates are %v", rates)
	}
	word := []byte("orders")
	if n := testing.AllocsPerRun(100, func() { all.Find(word) }); n != 0 {
		t.Errorf("%v allocations to find one", n)
	}
}

func TestNoTenantsHaveNoNames(t *testing.T) {
	all, err := tenant.New(layout(t, "flakeward"), nil)
	if _, found := all.Find([]byte("x")); err != nil || found || len(all.All()) != 0 || len(all.Rates()) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, found := all.Of(0); found {
		t.Error("0 has a name")
	}
	if _, found := all.Nearest("x"); found {
		t.Error("x is near to a name")
	}
}

func TestTenantsThatDoNotFitAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, layout string
		list         []tenant.Tenant
		want         string
	}{
		{"too high", tenanted, []tenant.Tenant{{Name: "a", ID: 16, At: "f.yaml:3"}}, `f.yaml:3: tenant "a": its id 16 does not fit the layout's 4 tenant bits: the highest is 15`},
		{"no field", "flakeward", []tenant.Tenant{{Name: "a", ID: 1}}, "has no tenant field"},
		{"a number twice", tenanted, []tenant.Tenant{{Name: "a", ID: 1}, {Name: "b", ID: 1, At: "f.yaml:4"}}, `f.yaml:4: tenant "b": its id 1 is that of a, too`},
		{"a name twice", tenanted, []tenant.Tenant{{Name: "a", ID: 1}, {Name: "a", ID: 2}}, "the name is given twice"},
		{"a number for a name", tenanted, []tenant.Tenant{{Name: "7", ID: 1}}, "begin with a letter"},
		{"no name", tenanted, []tenant.Tenant{{ID: 1}}, "begin with a letter"},
		{"a name for two lines", tenanted, []tenant.Tenant{{Name: "a\nb", ID: 1}}, "begin with a letter"},
		{"a name that ends a field", tenanted, []tenant.Tenant{{Name: "a,b", ID: 1}}, "begin with a letter"},
		{"too long", tenanted, []tenant.Tenant{{Name: strings.Repeat("a", tenant.MaxName+1), ID: 1}}, "1 to 64 letters"},
		{"two at once", tenanted, []tenant.Tenant{{Name: "a", ID: 99, At: "f:1"}, {Name: "-", ID: 2, At: "f:2"}}, `f:2: tenant "-"`},
	} {
		if all, err := tenant.New(layout(t, c.layout), c.list); err == nil || all != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
	}
	if _, err := tenant.New(layout(t, "flakeward"), []tenant.Tenant{{Name: "all", ID: 0}}); err != nil {
		t.Errorf("a name for tenant 0, which every layout has: %v", err)
	}
}
