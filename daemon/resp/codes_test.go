package resp

import "testing"

func TestEachRefusalHasACodeOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for k, code := range codes {
		if code == "" || seen[code] {
			t.Errorf("kind %d has the code %q", k, code)
		}
		seen[code] = true
	}
}
