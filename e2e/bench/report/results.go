package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
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
	Machine Machine   `json:"machine"`
	Load    string    `json:"load"`       // the averages of 1, 5 and 15 minutes before
	After   string    `json:"load_after"` // and after
	Figures []Figure  `json:"figures"`
	// Versions are those of the programs and libraries that were measured or measured with, by
	// their names.
	Versions map[string]string `json:"versions,omitempty"`
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

func (m Machine) String() string {
	return fmt.Sprintf("%d processors, %s; memory %s; kernel %s, clock source %s; %s; %s", m.Processors, m.Processor, m.Memory, m.Kernel, m.Clock, m.Go, m.Daemon)
}

// Put replaces the section of that name, or adds it.
func (r *Results) Put(s Section) {
	all := slices.DeleteFunc(r.Sections, func(old Section) bool { return old.Name == s.Name })
	r.Sections = append(all, s)
}

// Keep drops the sections that are not among names, and has the others in their order.
func (r *Results) Keep(names []string) {
	r.Sections = slices.DeleteFunc(r.Sections, func(s Section) bool { return !slices.Contains(names, s.Name) })
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

// versions are those of all sections, by name.
func (r Results) versions() (rows [][]string) {
	all := make(map[string]string)
	for _, s := range r.Sections {
		maps.Copy(all, s.Versions)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, []string{name, all[name]})
	}
	return rows
}

// Load reads what Save wrote. Without the file there are no results yet.
func Load(path string) (r Results, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Results{}, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return Results{}, fmt.Errorf("%s: %w: measure again, or restore the file", path, err)
	}
	return r, nil
}

// Save writes the results to a file. Numbers keep six digits, which is more than was measured.
func (r Results) Save(path string) error {
	for _, s := range r.Sections {
		for _, f := range s.Figures {
			round(f.Ours)
			round(f.Theirs)
		}
	}
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return fmt.Errorf("the results cannot be written: %w", err)
	}
	return Replace(path, append(b, '\n'))
}

func round(values []float64) {
	for i, v := range values {
		// By way of the text, so that the result is written as short as can be.
		if r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64); err == nil && !math.IsNaN(r) {
			values[i] = r
		}
	}
}

// Replace replaces a file as a whole, so that an interruption leaves the one or the other.
func Replace(path string, content []byte) error {
	next := path + ".new"
	if err := os.WriteFile(next, content, 0o644); err != nil {
		return err
	}
	return os.Rename(next, path)
}
