package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// FileName is what a drill's file is called in its folder.
const FileName = "drill.json"

// format is the number of the file's form. A reader refuses others.
const format = 1

// longest bounds a drill: what says that it lasted longer is damaged.
const longest = 24 * time.Hour

// ErrDamaged is what Read and Load return for what Save did not write: figures that were altered
// prove nothing.
var ErrDamaged = errors.New("the record of a drill is damaged")

// file is a drill as it is stored. The checksum is the CRC-32C of the drill's JSON without blanks,
// so the file may be indented anew, and nothing else.
type file struct {
	Format   int             `json:"format"`
	Checksum uint32          `json:"crc32c"`
	Drill    json.RawMessage `json:"drill"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Save writes the drill to a file, whole or not at all.
func Save(path string, d Drill) error {
	if err := check(d); err != nil {
		return fmt.Errorf("cannot save %s: %w", path, err)
	}
	data, err := encode(d)
	if err != nil {
		return fmt.Errorf("cannot save %s: %w", path, err)
	}
	next := path + ".new"
	if err := os.WriteFile(next, data, 0o644); err != nil {
		return fmt.Errorf("cannot save a drill's record: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("cannot save a drill's record: %w", err)
	}
	return nil
}

func encode(d Drill) ([]byte, error) {
	drill, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	return sealed(drill)
}

// sealed returns the file for a drill's JSON, which has no blanks.
func sealed(drill []byte) ([]byte, error) {
	data, err := json.Marshal(file{Format: format, Checksum: crc32.Checksum(drill, castagnoli), Drill: drill})
	return append(data, '\n'), err
}

// Load reads what Save wrote. An error that is not one of the file system is ErrDamaged.
func Load(path string) (Drill, error) {
	f, err := os.Open(path)
	if err != nil {
		return Drill{}, fmt.Errorf("cannot read a drill's record: %w", err)
	}
	defer f.Close()
	d, err := Read(f)
	if err != nil {
		return Drill{}, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// LoadAll reads every drill.json below a directory, in the order of their paths. A directory
// without any is an error.
func LoadAll(dir string) ([]Drill, error) {
	var drills []Drill
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() != FileName {
			return err
		}
		d, err := Load(path)
		drills = append(drills, d)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(drills) == 0 {
		return nil, fmt.Errorf("there is no %s below %s: run the drills first", FileName, dir)
	}
	return drills, nil
}

// Read reads what Save wrote. An error that is not the reader's own is ErrDamaged.
func Read(r io.Reader) (Drill, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return Drill{}, fmt.Errorf("cannot read a drill's record: %w", err)
	}
	var f file
	if err := strict(data, &f); err != nil {
		return Drill{}, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	if f.Format != format {
		return Drill{}, fmt.Errorf("%w: it is of format %d, and %d is known: run the drill again", ErrDamaged, f.Format, format)
	}
	var plain bytes.Buffer
	if err := json.Compact(&plain, f.Drill); err != nil {
		return Drill{}, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	if crc32.Checksum(plain.Bytes(), castagnoli) != f.Checksum {
		return Drill{}, fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	}
	var d Drill
	if err := strict(plain.Bytes(), &d); err != nil {
		return Drill{}, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	if err := check(d); err != nil {
		return Drill{}, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	return d, nil
}

// strict reads one JSON value that has no fields but the known ones, and nothing after it.
func strict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something follows its end")
	}
	return nil
}

// check says what no drill can be.
func check(d Drill) error {
	if d.Name == "" || d.Coordinator == "" {
		return errors.New("the drill has no name or no coordinator")
	}
	if d.Took < 0 || d.LongestStall < 0 || d.Recovery < 0 {
		return fmt.Errorf("the drill %s has a time below 0", d.Name)
	}
	if d.Began < 0 || d.Ended < d.Began || time.Duration(d.Ended-d.Began) > longest {
		return fmt.Errorf("the drill %s goes from %d to %d ns", d.Name, d.Began, d.Ended)
	}
	for _, f := range d.Faults {
		if f.At < 0 || f.Until < f.At {
			return fmt.Errorf("the fault %q of drill %s goes from %d to %d ns", f.Kind, d.Name, f.At, f.Until)
		}
	}
	for _, l := range d.Hosts {
		if l.Every <= 0 || len(l.IDs) > 0 && time.Duration(len(l.IDs)-1) > time.Duration(d.Ended-d.Began)/l.Every {
			return fmt.Errorf("the line of %s in drill %s has %d steps of %v", l.Host, d.Name, len(l.IDs), l.Every)
		}
		for _, s := range l.Stalls {
			if s.From < d.Began || s.To < s.From || s.To > d.Ended {
				return fmt.Errorf("a stall of %s in drill %s goes from %d to %d ns", l.Host, d.Name, s.From, s.To)
			}
		}
	}
	return nil
}
