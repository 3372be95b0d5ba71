package daemon_test

import (
	"strings"
	"testing"

	"github.com/flakeward/flakeward/generator"
)

const tenanted = "time=41@1ms,worker=6,tenant=4,sequence=12;epoch=2026-01-01"

func TestTenantsThatDoNotFitAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name, layout string
		number       uint64
		want         string
	}{
		{"a", tenanted, 16, `tenant "a": its number 16 does not fit the layout's 4 tenant bits: the highest is 15`},
		{"a", generator.DefaultLayout, 1, "has no tenant field"},
		{"7", tenanted, 1, "begin with a letter"},
		{"", tenanted, 1, "begin with a letter"},
		{"a\nb", tenanted, 1, "begin with a letter"},
		{strings.Repeat("a", 65), tenanted, 1, "1 to 64 letters"},
		{strings.Repeat("a", 64), tenanted, 15, ""},
		{"mail.eu-1_a", generator.DefaultLayout, 0, ""},
	} {
		c := config(dir(t))
		c.IDs.Layout, c.IDs.Tenants = tt.layout, map[string]uint64{tt.name: tt.number}
		if err := c.Validate(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q is %d: %v, want %q", tt.name, tt.number, err, tt.want)
		}
	}
}
