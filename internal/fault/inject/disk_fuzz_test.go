package inject

import (
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/internal/fault"
)

// FuzzDisk: a drill has the disk that it asks for, or an error that names the variable; never
// another disk.
func FuzzDisk(f *testing.F) {
	for _, text := range []string{"", "volatile", "volatile/5s", "volatile/0s", "volatile/", "Volatile", "volatile/1s/2s", "/1s", "fuse", "fuse/1s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := parseDisk(text)
		if err != nil {
			if o.Disk != nil || o.FUSE || !strings.Contains(err.Error(), fault.Disk) {
				t.Errorf("%q: %+v, %v", text, o, err)
			}
			return
		}
		if (o.Disk == nil) != (text == "" || text == "fuse") || o.FUSE != (text == "fuse") {
			t.Errorf("%q is %+v", text, o)
		}
		if o.Disk == nil {
			return
		}
		var real journal.Disk = struct{ journal.Disk }{}
		volatile, ok := o.Disk(real).(*volatileDisk)
		if !ok || volatile.Disk != real || volatile.writeBack <= 0 || text != "volatile" && !strings.HasPrefix(text, "volatile/") {
			t.Errorf("%q is %+v", text, volatile)
		}
	})
}
