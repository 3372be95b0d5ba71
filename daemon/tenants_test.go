package daemon_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/tenant"
	"github.com/flakeward/flakeward/internal/info"
)

const tenanted = "time=41@1ms,worker=6,tenant=4,sequence=12;epoch=2026-01-01"

// A tenant of the configuration is asked for, limited and shown by its name.
func TestTenantsHaveNamesAndRates(t *testing.T) {
	c := config(dir(t))
	c.IDs.Layout = tenanted
	c.Waiting.MaxBlock = 100 * time.Millisecond
	c.IDs.Tenants = []tenant.Tenant{{Name: "orders", ID: 3, Rate: issue.Rate{PerSecond: 10, Burst: 50}, Form: "base62"}, {Name: "mail", ID: 9}}
	r := start(t, c)
	ids, err := r.client.Do(t.Context(), "NEXT", 5, "TENANT", "orders").StringSlice()
	if err != nil || len(ids) != 5 || len(ids[0]) != 11 {
		t.Fatalf("%v, %v", ids, err)
	}
	fields, err := r.client.Do(t.Context(), "DECODE", ids[0], "AS", "base62").Result()
	if m, ok := fields.(map[any]any); err != nil || !ok || m["tenant"] != int64(3) || m["tenant_name"] != "orders" {
		t.Errorf("DECODE: %v, %v", fields, err)
	}
	if _, err := r.do("NEXT", 400, "TENANT", "orders"); err == nil || !strings.Contains(err.Error(), "at the tenant's rate of 10/s: at most ") {
		t.Errorf("400 at 10/s: %v", err)
	}
	r.shows("tenant-rate")
	if _, err := r.do("NEXT", 400, "TENANT", "mail"); err != nil {
		t.Errorf("400 without a rate: %v", err)
	}
	if _, err := r.do("NEXT", 5, "TENANT", "order"); err == nil || err.Error() != "ERR there is no tenant 'order': did you mean 'orders'?" {
		t.Errorf("a misspelt name: %v", err)
	}
	text, err := r.client.Info(t.Context(), "tenants").Result()
	if want := "# Tenants\r\ntenant_3:name=orders,rate=10/s+50,form=base62\r\ntenant_9:name=mail,rate=none\r\n"; err != nil || text != want {
		t.Errorf("INFO tenants is %q, %v; want %q", text, err, want)
	}
	if names := info.Tenants(info.Parse(text)); len(names) != 2 || names[3] != "orders" || names[9] != "mail" {
		t.Errorf("that is read as %v", names)
	}
}

func TestTenantsThatTheLayoutHasNoRoomForAreRefused(t *testing.T) {
	c := config(dir(t))
	c.IDs.Tenants = []tenant.Tenant{{Name: "orders", ID: 3, At: "flakeward.yaml:7"}}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), `flakeward.yaml:7: tenant "orders": its id is 3, but the layout`) {
		t.Errorf("%v", err)
	}
}
