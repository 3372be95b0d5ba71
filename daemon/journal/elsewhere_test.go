package journal

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// TestAJournalWrittenElsewhereSaysSo: a copy, by whatever way, is told from the journal that it is
// a copy of, and what is written to it from then on is in its place.
func TestAJournalWrittenElsewhereSaysSo(t *testing.T) {
	copied := func(t *testing.T, from, to string) {
		data := must.Get(os.ReadFile(from))(t)
		must.Do(t, os.WriteFile(to, data, 0o600))
	}
	for name, tt := range map[string]struct {
		there func(t *testing.T, path string) (string, place.Host) // where the daemon starts that finds it
		says  string
	}{
		"the same": {func(_ *testing.T, path string) (string, place.Host) { return path, here }, ""},
		"after a boot of a known machine": {func(_ *testing.T, path string) (string, place.Host) {
			return path, place.Host{Boot: "other", Machine: here.Machine}
		}, ""},
		"another directory": {func(t *testing.T, path string) (string, place.Host) {
			to := t.TempDir()
			copied(t, filepath.Join(path, journalName), filepath.Join(to, journalName))
			return to, here
		}, "state directory"},
		"the directory moved": {func(t *testing.T, path string) (string, place.Host) {
			must.Do(t, os.Rename(path, path+".new"))
			return path + ".new", here
		}, ""},
		"the lock made anew": {func(t *testing.T, path string) (string, place.Host) {
			must.Do(t, os.Rename(filepath.Join(path, lockName), filepath.Join(path, "aside")))
			return path, here
		}, "the lock"},
		"the journal put back": {func(t *testing.T, path string) (string, place.Host) {
			copied(t, filepath.Join(path, journalName), filepath.Join(path, "old"))
			must.Do(t, os.Rename(filepath.Join(path, "old"), filepath.Join(path, journalName)))
			return path, here
		}, "the journal"},
		"another host": {func(_ *testing.T, path string) (string, place.Host) {
			return path, place.Host{Boot: "other", Machine: "other"}
		}, "another machine"},
		"after a boot of a machine without identity": {func(_ *testing.T, path string) (string, place.Host) {
			return path, place.Host{Boot: "other"}
		}, "--machine-identity"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, filepath.Join(t.TempDir(), "state"))
			write(t, d, contents(1))
			must.Do(t, d.Close())
			path, host := tt.there(t, d.Path())
			d = must.Get(OpenDir(path, host))(t)
			defer d.Close()
			c := must.Get(d.Read())(t)
			why := must.Get(d.Elsewhere(c))(t)
			if (why == "") != (tt.says == "") || !strings.Contains(why, tt.says) {
				t.Fatalf("it was written elsewhere: %q, want %q", why, tt.says)
			}
			write(t, d, c)
			wantRead(t, d, contents(1))
		})
	}
}

// TestACopyByHardLinksHasAJournalOfItsOwn: of two directories in which one file is the journal,
// each daemon finds what it wrote itself.
func TestACopyByHardLinksHasAJournalOfItsOwn(t *testing.T) {
	for _, originalFirst := range []bool{true, false} {
		original := open(t, filepath.Join(t.TempDir(), "state"))
		write(t, original, contents(1))
		if originalFirst {
			must.Do(t, original.Close())
		}
		path := filepath.Join(t.TempDir(), "copy")
		must.Do(t, os.Mkdir(path, 0o700))
		must.Do(t, os.Link(filepath.Join(original.Path(), journalName), filepath.Join(path, journalName)))
		if originalFirst {
			original = open(t, original.Path())
			wantRead(t, original, contents(1))
		}
		write(t, original, contents(2))
		linked := open(t, path)
		c := must.Get(linked.Read())(t)
		if why, err := linked.Elsewhere(c); why == "" || err != nil {
			t.Errorf("a copy by hard links is at home (%v)", err)
		}
		for mark := range 3 {
			write(t, linked, contents(generator.Tick(100+mark)))
			write(t, original, contents(generator.Tick(10+mark)))
		}
		write(t, linked, contents(200))
		for d, mark := range map[*Dir]generator.Tick{original: 12, linked: 200} {
			must.Do(t, d.Close())
			wantRead(t, open(t, d.Path()), contents(mark))
		}
	}
}

func TestOfACopyTheMarksCountAlone(t *testing.T) {
	c := contents(5)
	c.Entries[1].Left = true
	got := c.Floors()
	want := []Entry{{Worker: 0, Opening: "o-1", Mark: 5, Left: true}, {Worker: 1023, Opening: "o-2 <&>", Mark: 1<<62 + 5, Left: true}}
	if !reflect.DeepEqual(got.Entries, want) || got.Cluster != c.Cluster || got.Layout != c.Layout {
		t.Errorf("Floors() = %+v, want the lanes %+v", got, want)
	}
	if !reflect.DeepEqual(c.Entries[0], contents(5).Entries[0]) {
		t.Error("Floors has changed what it was made of")
	}
}
