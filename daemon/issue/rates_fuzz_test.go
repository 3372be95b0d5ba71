package issue_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/issue"
)

// What is accepted reads back to the same, as it is shown.
func FuzzRates(f *testing.F) {
	f.Add("100000/s", "1000=5000/s,1001=none")
	f.Add("1/s+1", " 7=none , 8=2/s+1000000000")
	f.Add("none", "4294967295=1/s")
	f.Add("0/s", "7=1/s,7=2/s")
	f.Fuzz(func(t *testing.T, each, byUID string) {
		rates, err := issue.ParseRates(each, byUID)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error says nothing")
			}
			return
		}
		var shown []string
		for _, uid := range slices.Sorted(maps.Keys(rates.ByUID)) {
			shown = append(shown, fmt.Sprintf("%d=%s", uid, rates.ByUID[uid]))
		}
		again, err := issue.ParseRates(rates.Each.String(), strings.Join(shown, ","))
		if err != nil || again.Each != rates.Each || !maps.Equal(again.ByUID, rates.ByUID) {
			t.Errorf("%q and %q are %+v, and read back %+v, %v", each, byUID, rates, again, err)
		}
	})
}
