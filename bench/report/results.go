package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Results are those of all sections, each of which may have been measured at another time.
type Results struct {
	Sections []Section `json:"sections"`
}

// Section is what came of one section, and when and on what.
type Section struct {
	Name    string    `json:"name"`
	About   string    `json:"about"`
	Begun   time.Time `json:"begun"`
	Took    float64   `json:"took"` // seconds
	Short   bool      `json:"short,omitempty"`
	Machine Machine   `json:"machine"`
	Load    string    `json:"load"`       // the averages of 1, 5 and 15 minutes before
	After   string    `json:"load_after"` // and after
	Failed  string    `json:"failed,omitempty"`
	Findings
}

// Machine is what figures were measured on and with.
type Machine struct {
	Processor  string `json:"processor"`
	Processors int    `json:"processors"`
	Memory     string `json:"memory"`
	Kernel     string `json:"kernel"`
	Clock      string `json:"clock"` // its source, as the kernel names it
	Go         string `json:"go"`
	Daemon     string `json:"daemon"`
}

// Put replaces the section of that name, or adds it. The sections are then in the order of names,
// and what is not among these is gone.
func (r *Results) Put(s Section, names []string) {
	all := slices.DeleteFunc(r.Sections, func(old Section) bool { return old.Name == s.Name || !slices.Contains(names, old.Name) })
	r.Sections = append(all, s)
	slices.SortStableFunc(r.Sections, func(a, b Section) int {
		return slices.Index(names, a.Name) - slices.Index(names, b.Name)
	})
}

// Figures are those of all sections.
func (r Results) Figures() (all []Figure) {
	for _, s := range r.Sections {
		all = append(all, s.Figures...)
	}
	return all
}

// Plots are those of all sections.
func (r Results) Plots() (all []Plot) {
	for _, s := range r.Sections {
		all = append(all, s.Plots...)
	}
	return all
}

// Load reads results from a file. Without the file there are none yet.
func Load(path string) (Results, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Results{}, nil
	}
	if err != nil {
		return Results{}, err
	}
	r, err := Decode(b)
	if err != nil {
		return Results{}, fmt.Errorf("%s: %w: measure again, or restore the file", path, err)
	}
	return r, nil
}

// Decode reads results. What it accepts can be shown.
func Decode(b []byte) (r Results, err error) {
	if err := json.Unmarshal(b, &r); err != nil {
		return Results{}, fmt.Errorf("no results: %w", err)
	}
	seen := make(map[string]bool)
	for _, s := range r.Sections {
		for _, f := range s.Figures {
			if !slices.Contains(units, f.Unit) {
				return Results{}, fmt.Errorf("the figure %q is in %q, which is no unit", f.What, f.Unit)
			}
		}
		for _, p := range s.Plots {
			if !fileName(p.Name) || seen[p.Name] {
				return Results{}, fmt.Errorf("the plot %q: its name has to be its own, of lower-case letters, digits and hyphens", p.Name)
			}
			seen[p.Name] = true
		}
	}
	return r, nil
}

var units = []Unit{Number, Rate, Seconds, Bytes, Share}

func fileName(s string) bool {
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != ""
}

// Encode writes results so that Decode reads the same. Numbers keep six digits, which is more than
// was measured.
func (r Results) Encode() ([]byte, error) {
	rounded := Results{Sections: slices.Clone(r.Sections)}
	for i := range rounded.Sections {
		rounded.Sections[i] = rounded.Sections[i].round()
	}
	b, err := json.MarshalIndent(rounded, "", "\t")
	if err != nil {
		return nil, fmt.Errorf("the results cannot be written: %w", err)
	}
	return append(b, '\n'), nil
}

func (s Section) round() Section {
	s.Took = round(s.Took)
	s.Figures = slices.Clone(s.Figures)
	for i, f := range s.Figures {
		s.Figures[i].Ours, s.Figures[i].Theirs = roundAll(f.Ours), roundAll(f.Theirs)
	}
	s.Plots = slices.Clone(s.Plots)
	for i, p := range s.Plots {
		s.Plots[i].Lines = slices.Clone(p.Lines)
		for j, l := range p.Lines {
			s.Plots[i].Lines[j] = Line{Name: l.Name, X: roundAll(l.X), Y: roundAll(l.Y), Low: roundAll(l.Low), High: roundAll(l.High)}
		}
	}
	return s
}

func roundAll(values []float64) []float64 {
	if len(values) == 0 {
		return nil
	}
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = round(v)
	}
	return all
}

func round(v float64) float64 {
	// By way of the text, so that the result is written as short as can be.
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil || math.IsNaN(r) {
		return v
	}
	return r
}

// Write replaces a file as a whole, so that who reads it meanwhile, or an interruption, sees the
// one or the other.
func Write(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".bench-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // err says more
		}
	}()
	if _, err = f.Write(content); err == nil {
		err = f.Chmod(0o644)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
