package report

import (
	"os"
	"path/filepath"
	"testing"
)

// The names are read by others, and by those who come later.
func TestNamesInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	if err := Save(path, Drill{Faults: []Fault{{}}, Figures: []Figure{{}}, Hosts: []Line{{Stalls: []Span{{}}}}}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"","coordinator":"","what":"","took_ns":0,"faults":[{"at":0,"until":0,"host":"","kind":""}],"ids":0,"received":0,"violations":0,"examples":null,` +
		`"longest_stall_ns":0,"recovery_ns":0,"figures":[{"name":"","got":"","want":"","met":false}],"failed":"","began":0,"ended":0,"hosts":[{"host":"","every_ns":0,"ids":null,"stalls":[{"from":0,"to":0}]}]}` + "\n"
	if string(data) != want {
		t.Errorf("%s\nwant\n%s", data, want)
	}
	if err := Save(t.TempDir(), Drill{}); err == nil {
		t.Error("a directory was written")
	}
}
