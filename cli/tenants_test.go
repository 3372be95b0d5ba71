package cli

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/cli/configfile"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/tenant"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

const tenanted = "time=41@1ms,worker=6,tenant=4,sequence=12;epoch=2026-01-01T00:00:00Z"

// configured is a configuration file with two tenants.
func configured(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "flakeward.yaml")
	text := "layout: " + tenanted + "\ntenants:\n  orders: {id: 3, rate: 1000/s, form: base62}\n  mail:\n    id: 9\n"
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestTheFileHasTenants(t *testing.T) {
	file := configured(t)
	got := must.Get(configOf(t, "--config", file))(t)
	want := []tenant.Tenant{
		{Name: "orders", ID: 3, Rate: issue.Rate{PerSecond: 1000, Burst: 1000}, Form: "base62", At: file + ":3"},
		{Name: "mail", ID: 9, At: file + ":4"},
	}
	if !reflect.DeepEqual(got.IDs.Tenants, want) {
		t.Errorf("got %+v, want %+v", got.IDs.Tenants, want)
	}
}

// Names come from --config, or else from the daemon that is asked for its layout.
func TestDecodeShowsTenantsByName(t *testing.T) {
	const table = "id                   time                      worker  tenant  sequence  base62       name\n" +
		"12886016             2026-01-01T00:00:00.003Z       4      10         0  0000000s4Ey\n" +
		"12857344             2026-01-01T00:00:00.003Z       4       3         0  0000000rwmW  orders\n"
	socket := script{"INFO": {bulk("# Cluster\r\nlayout:" + tenanted + "\r\n# Tenants\r\ntenant_3:name=orders,rate=none\r\ntenant_x:name=y\r\n")}}.serve(t, nil)
	for name, args := range map[string][]string{
		"the file's":   {"--config", configured(t)},
		"the daemon's": {"--socket", socket},
	} {
		args = append([]string{"decode", "12886016", "12857344"}, args...)
		if out, _, err := command(t, "", args...); out != table || err != nil {
			t.Errorf("%s: %s%v, want\n%s", name, out, err, table)
		}
		if out, _, err := command(t, "", append(args, "--json")...); err != nil || !strings.Contains(out, `"tenant":3,"tenant_name":"orders","sequence":0,"base62":"0000000rwmW"}`) || strings.Count(out, "tenant_name") != 1 {
			t.Errorf("%s: %s%v", name, out, err)
		}
	}
}

func TestExplainShowsTenantsByName(t *testing.T) {
	s := someCluster()
	s.inspected.Layout = tenanted + ";datacenter=0"
	layout := must.Get(generator.ParseLayout(tenanted))(t)
	id := must.Get(layout.Compose(generator.Parts{Tick: tickAt(-1), Worker: 4, Tenant: 9, Sequence: 1}))(t)
	out, _, err := ask{standIn: s}.run(t, "explain", idText(id), "--config", configured(t))
	if err != nil || !strings.Contains(out, "\ntenant       9\n") || !strings.Contains(out, "\ntenant name  mail\n") {
		t.Errorf("%s%v", out, err)
	}
	socket := script{"INFO": {bulk("# Tenants\r\ntenant_9:name=post,rate=none\r\n")}}.serve(t, nil)
	out, _, err = ask{standIn: s}.run(t, "explain", idText(id), "--json", "--socket", socket, "--coord", "etcd://h")
	if err != nil || !strings.Contains(out, `"tenant":9,"tenant_name":"post"`) {
		t.Errorf("%s%v", out, err)
	}
	out, _, err = ask{standIn: s}.run(t, "explain", idText(id), "--socket", filepath.Join(t.TempDir(), "none"), "--coord", "etcd://h")
	if err != nil || strings.Contains(out, "tenant name") || !strings.Contains(out, "tenant       9\n") {
		t.Errorf("without names: %s%v", out, err)
	}
}

// FuzzTenants: the tenants of any file are refused with a line, or have a name, a number and a rate
// that reads back to the same.
func FuzzTenants(f *testing.F) {
	f.Add("tenants: {orders: {id: 3, rate: 1000/s+5, form: base62}, mail: {id: 04}}")
	f.Add("tenants:\n  a:\n    id: 18446744073709551615\n  7: {id: -1}\n")
	f.Add("tenants: {a: 3, b: {}, c: {rate: none}}")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := configfile.Parse([]byte(text), fileSettings())
		if err != nil {
			return
		}
		all, err := readTenants("f", values[tenantsName])
		if err != nil {
			var at *configfile.Error
			if !errors.As(err, &at) || at.Line < 1 || all != nil || ExitCode(err) != ExitUsage {
				t.Errorf("%q: %+v, %v", text, all, err)
			}
			return
		}
		if len(all) != len(values[tenantsName].Entries) {
			t.Errorf("%q: %d tenants", text, len(all))
		}
		for _, one := range all {
			if again, err := issue.ParseRate(one.Rate.String()); err != nil || again != one.Rate || one.At == "" {
				t.Errorf("%q: %+v, %v", text, one, err)
			}
		}
	})
}
