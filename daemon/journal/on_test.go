package journal

import (
	"bytes"
	"errors"
	"io/fs"
	"testing"
)

// memory is a Disk of one file.
type memory struct {
	data  []byte
	temp  *bytes.Buffer
	moved error
}

func (m *memory) Read() ([]byte, error) {
	if m.data == nil {
		return nil, fs.ErrNotExist
	}
	return m.data, nil
}

func (m *memory) OpenTemp() (TempFile, error) {
	m.temp = &bytes.Buffer{}
	return file{m.temp}, nil
}

func (m *memory) Rename() error     { m.data = m.temp.Bytes(); return nil }
func (m *memory) RemoveTemp() error { m.temp = nil; return nil }
func (m *memory) SyncDir() error    { return nil }
func (m *memory) Ours() error       { return m.moved }

type file struct{ *bytes.Buffer }

func (file) Sync() error  { return nil }
func (file) Close() error { return nil }

func TestOnAnotherDisk(t *testing.T) {
	m := &memory{}
	d := On("/elsewhere", m)
	if _, err := d.Read(); !errors.Is(err, ErrNone) {
		t.Errorf("Read of nothing: %v, want ErrNone", err)
	}
	want := Contents{Cluster: "c", Lanes: []Entry{{Worker: 3, Opening: "o", Mark: 7}}}
	if err := d.Write(want); err != nil {
		t.Fatal(err)
	}
	got, err := d.Read()
	if err != nil || len(got.Lanes) != 1 || got.Lanes[0] != want.Lanes[0] {
		t.Errorf("Read: %+v, %v; want %+v", got, err, want)
	}
	m.moved = ErrMoved
	if err := d.Write(want); !errors.Is(err, ErrMoved) {
		t.Errorf("Write where the directory is another one: %v, want ErrMoved", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
