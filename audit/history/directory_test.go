package history

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

func TestDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records")
	if versions, err := Directory(path); versions != nil || err != nil {
		t.Errorf("without a file: %v, %v", versions, err)
	}
	for text, want := range map[string][]Version{
		"": nil,
		`0000007 {"ceiling":10,"issued":0,"holder":"O","claim":"C"}` + "\n" + `0000003 {"ceiling":20,"issued":1,"holder":"P"}` + "\n": {
			{Order: 1, Worker: 7, Ceiling: 10, Holder: "O", Claim: "C"}, {Order: 2, Worker: 3, Ceiling: 20, Issued: 1, Holder: "P"},
		},
	} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		if got := must.Get(Directory(path))(t); !slices.Equal(got, want) {
			t.Errorf("%q: %+v", text, got)
		}
	}
	for _, text := range []string{
		"\n", "0000007\n", "7 {}\n", "0000007 {}\n", `0000007 {"ceiling":10,"issued":0,"holder":"O"}`, `0000007 {"ceiling":10,"mark":0,"issued":0,"holder":"O"} x` + "\n",
	} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		if got, err := Directory(path); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
