//go:build drill

package journal

import (
	"strings"
	"testing"
)

// FuzzDisk: a drill has the disk that it asks for, or an error that names the variable; never another disk.
func FuzzDisk(f *testing.F) {
	for _, text := range []string{"", "lossy", "lossy/5s", "lossy/0s", "lossy/", "Lossy", "lossy/1s/2s", "/1s", "fuse", "fuse/1s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, 0) {
			return // no variable holds that
		}
		t.Setenv(DiskVariable, text)
		real := new(realDisk)
		made, err := diskOf(real)
		lossy, isLossy := made.(*lossyDisk)
		switch {
		case err != nil:
			if made != nil || !strings.Contains(err.Error(), DiskVariable) {
				t.Errorf("%q: %v, %v", text, made, err)
			}
		case isLossy != (text != "" && text != onFUSE):
			t.Errorf("%q is %T", text, made)
		case isLossy && (lossy.Disk != Disk(real) || lossy.writeBack <= 0 || text != "lossy" && !strings.HasPrefix(text, "lossy/")):
			t.Errorf("%q is %+v", text, lossy)
		}
	})
}
