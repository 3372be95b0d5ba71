package tree

import "testing"

// FuzzParse: a name that is taken is that of the claim it tells, and of no other.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"w3-Inc-Tok", "d17-Inc-Tok", "w4194304-a-b", "w03-a-b", "d-a-b", "x1-a-b"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s := new(Store)
		n, ok := s.Parse(name)
		if !ok {
			return
		}
		if again := nameOf(n); again != name || n.Name != name {
			t.Errorf("%q is taken for %+v, which is %q", name, n, again)
		}
	})
}
