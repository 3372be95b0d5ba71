package page

import "testing"

func TestAnIDIsTakenAsItIsPasted(t *testing.T) {
	const uuid = "0194f8a2-7c3e-7abc-8def-0123456789ab"
	for _, tt := range []struct{ text, as, want string }{
		{" 119805538803733436\n", "", "119805538803733436"},
		{`"119805538803733436",`, "", "119805538803733436"},
		{"{0194F8A2-7C3E-7ABC-8DEF-0123456789AB}", "", uuid},
		{uuid, "uuid", uuid},
		{"0Ab9zQ12xYz", "base62", "0Ab9zQ12xYz"},
		{"-1", "", "-1"},
	} {
		if got := pasted(tt.text, tt.as); got != tt.want {
			t.Errorf("%q as %q is %q, want %q", tt.text, tt.as, got, tt.want)
		}
	}
}
