package place

import (
	"strings"
	"testing"
)

// written is a place of which everything is known.
func written() Place {
	return Place{
		Host: Host{Boot: "b1", Machine: "m1", VM: "3"},
		Dir:  File{Device: 8, Inode: 10, Handle: "1:0a"}, Lock: File{Device: 8, Inode: 11, Handle: "1:0b"}, Journal: File{Device: 8, Inode: 12, Handle: "1:0c"},
	}
}

func TestAPlaceIsTheSameOnlyIfEachPartIs(t *testing.T) {
	for name, tt := range map[string]struct {
		was, now func(*Place) // what differs from a place of which everything is known; nil: nothing
		says     string       // empty: it is the same place
	}{
		"nothing differs":                            {nil, nil, ""},
		"the machine has booted":                     {nil, func(p *Place) { p.Boot = "b2" }, ""},
		"the boot ID is not known any more":          {nil, func(p *Place) { p.Boot = "" }, ""},
		"no identity any more, the same boot":        {nil, func(p *Place) { p.Machine = "" }, ""},
		"another identity, the same boot":            {nil, func(p *Place) { p.Machine = "m2" }, "another machine"},
		"an identity since, the same boot":           {func(p *Place) { p.Machine = "" }, nil, ""},
		"another machine":                            {nil, func(p *Place) { p.Boot, p.Machine = "b2", "m2" }, "another machine"},
		"booted, no identity any more":               {nil, func(p *Place) { p.Boot, p.Machine = "b2", "" }, "--machine-identity"},
		"booted, no identity then":                   {func(p *Place) { p.Machine = "" }, func(p *Place) { p.Boot = "b2" }, "--machine-identity"},
		"booted, no identity ever":                   {func(p *Place) { p.Machine = "" }, func(p *Place) { p.Boot, p.Machine = "b2", "" }, "--machine-identity"},
		"nothing is known of either host":            {func(p *Place) { p.Host = Host{} }, func(p *Place) { p.Host = Host{} }, "--machine-identity"},
		"the virtual machine was cloned":             {nil, func(p *Place) { p.VM = "4" }, "cloned"},
		"its generation is not known any more":       {nil, func(p *Place) { p.VM = "" }, "cloned"},
		"its generation was not known then":          {func(p *Place) { p.VM = "" }, nil, ""},
		"cloned and booted":                          {nil, func(p *Place) { p.Boot, p.VM = "b2", "4" }, "cloned"},
		"another directory":                          {nil, func(p *Place) { p.Dir.Inode++ }, "directory is another: its inode"},
		"another volume":                             {nil, func(p *Place) { p.Dir.Device++ }, "directory is another: its device"},
		"a directory made anew with the old inode":   {nil, func(p *Place) { p.Dir.Handle = "1:ff" }, "directory is another: its file handle"},
		"no handle any more":                         {nil, func(p *Place) { p.Dir.Handle = "" }, "directory is another: its file handle"},
		"no handle then":                             {func(p *Place) { p.Dir.Handle = "" }, nil, ""},
		"another lock":                               {nil, func(p *Place) { p.Lock.Inode++ }, "lock is another: its inode"},
		"a lock on another volume":                   {nil, func(p *Place) { p.Lock.Device++ }, "lock is another: its device"},
		"a lock made anew with the old inode":        {nil, func(p *Place) { p.Lock.Handle = "1:ff" }, "lock is another: its file handle"},
		"another journal":                            {nil, func(p *Place) { p.Journal.Inode++ }, "journal is another: its inode"},
		"a journal on another volume":                {nil, func(p *Place) { p.Journal.Device++ }, "journal is another: its device"},
		"a journal made anew with the old inode":     {nil, func(p *Place) { p.Journal.Handle = "1:ff" }, "journal is another: its file handle"},
		"another machine with the very same numbers": {nil, func(p *Place) { p.Host = Host{Boot: "b9", Machine: "m9"} }, "another machine"},
	} {
		was, now := written(), written()
		if tt.was != nil {
			tt.was(&was)
		}
		if tt.now != nil {
			tt.now(&now)
		}
		why := was.Elsewhere(now)
		if (why == "") != (tt.says == "") || !strings.Contains(why, tt.says) {
			t.Errorf("%s: %q, want %q", name, why, tt.says)
		}
	}
}
