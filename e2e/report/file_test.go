package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestSaveAndLoad(t *testing.T) {
	dir := t.TempDir()
	drills := several()
	drills[0].Figures = []Figure{{"a", "b", "<= c", true}}
	drills[0].Examples, drills[0].Violations, drills[0].Failed = []string{"ID 17 <twice>"}, 1, "x"
	for _, d := range drills {
		if err := os.MkdirAll(filepath.Join(dir, d.Coordinator, d.Name), 0o755); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, d.Coordinator, d.Name, FileName)
		if err := Save(path, d); err != nil {
			t.Fatal(err)
		}
		back, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, d) {
			t.Errorf("%s came back as %+v, was %+v", d.Name, back, d)
		}
	}
	all, err := LoadAll(dir)
	if err != nil || len(all) != len(drills) {
		t.Errorf("%d of %d, %v", len(all), len(drills), err)
	}
	if _, err := LoadAll(t.TempDir()); err == nil {
		t.Error("a directory without drills is no error")
	}
	if _, err := Load(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := Save(filepath.Join(dir, "x"), Drill{}); err == nil {
		t.Error("a drill without a name was saved")
	}
}

// The names are read by others, and by those who come later.
func TestNamesInTheFile(t *testing.T) {
	data, err := json.Marshal(Drill{Faults: []Fault{{}}, Figures: []Figure{{}}, Hosts: []Line{{Stalls: []Span{{}}}}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"","coordinator":"","what":"","took_ns":0,"faults":[{"at":0,"until":0,"host":"","kind":""}],"ids":0,"received":0,"violations":0,"examples":null,` +
		`"longest_stall_ns":0,"recovery_ns":0,"figures":[{"name":"","got":"","want":"","met":false}],"failed":"","began":0,"ended":0,"hosts":[{"host":"","every_ns":0,"ids":null,"stalls":[{"from":0,"to":0}]}]}`
	if string(data) != want {
		t.Errorf("%s\nwant\n%s", data, want)
	}
}

func TestReadNoticesDamage(t *testing.T) {
	d := made("a", "etcd", 1, 2*time.Second, []Fault{fault("a", "kill -9", 1, 2)}, nil)
	data, err := encode(d)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		for _, b := range []byte{data[i] ^ 1, '0', '"', '}'} {
			damaged := bytes.Clone(data)
			damaged[i] = b
			if got, err := Read(bytes.NewReader(damaged)); err != nil && !errors.Is(err, ErrDamaged) || err == nil && !reflect.DeepEqual(got, d) {
				t.Fatalf("byte %d as %q: %v, %+v", i, b, err, got)
			}
		}
		if i < len(data)-1 {
			if _, err := Read(bytes.NewReader(data[:i])); !errors.Is(err, ErrDamaged) {
				t.Fatalf("cut at byte %d: %v", i, err)
			}
		}
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(&pretty); err != nil {
		t.Errorf("indented anew: %v", err)
	}
	for _, text := range []string{"", "{}", string(data) + "{}", strings.Replace(string(data), `"format":1`, `"format":2`, 1), strings.Replace(string(data), `{"format"`, `{"more":1,"format"`, 1)} {
		if _, err := Read(strings.NewReader(text)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestImpossibleDrills(t *testing.T) {
	for name, change := range map[string]func(*Drill){
		"no name":                  func(d *Drill) { d.Name = "" },
		"no coordinator":           func(d *Drill) { d.Coordinator = "" },
		"a stall below 0":          func(d *Drill) { d.LongestStall = -1 },
		"an end before":            func(d *Drill) { d.Ended = d.Began - 1 },
		"a week":                   func(d *Drill) { d.Ended += 7 * 24 * 3600 * second },
		"a fault that ends before": func(d *Drill) { d.Faults[0].Until = d.Faults[0].At - 1 },
		"no step":                  func(d *Drill) { d.Hosts[0].Every = 0 },
		"too many steps":           func(d *Drill) { d.Hosts[0].IDs = make([]uint32, 22) },
		"a stall outside":          func(d *Drill) { d.Hosts[0].Stalls = []Span{{d.Began - 1, d.Ended}} },
	} {
		d := made("a", "etcd", 1, 2*time.Second, []Fault{fault("a", "kill -9", 1, 2)}, nil)
		if err := check(d); err != nil {
			t.Fatal(err)
		}
		change(&d)
		data, err := encode(d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(bytes.NewReader(data)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
