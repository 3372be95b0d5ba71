package issue_test

import (
	"testing"

	"github.com/flakeward/flakeward/daemon/issue"
)

// What is accepted reads back to the same, as it is shown.
func FuzzRate(f *testing.F) {
	for _, text := range []string{"100000/s", "1/s+1", "none", "0/s", "2/s+1000000000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rate, err := issue.ParseRate(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error says nothing")
			}
			return
		}
		if again, err := issue.ParseRate(rate.String()); err != nil || again != rate {
			t.Errorf("%q is %+v, and reads back %+v, %v", text, rate, again, err)
		}
	})
}
