package idlog_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/e2e/idlog"
)

type kept struct {
	life uint32
	id   int64
}

func read(b []byte) (all []kept, err error) {
	err = idlog.Read(bytes.NewReader(b), func(life uint32, ids []int64) error {
		for _, id := range ids {
			all = append(all, kept{life, id})
		}
		return nil
	})
	return all, err
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		w := idlog.NewWriter(&file)
		var want []kept
		for range rapid.IntRange(0, 4).Draw(t, "lives") {
			life := rapid.Uint32().Draw(t, "life")
			if err := w.Begin(life); err != nil {
				t.Fatal(err)
			}
			n := rapid.SampledFrom([]int{0, 1, 7, idlog.BlockIDs - 1, idlog.BlockIDs, idlog.BlockIDs + 1, 2*idlog.BlockIDs + 3}).Draw(t, "n")
			first := rapid.Int64().Draw(t, "first")
			for i := range n {
				want = append(want, kept{life, first + int64(i)})
				if err := w.Add(first + int64(i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		got, err := read(file.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("read %d IDs, wrote %d, and they differ", len(got), len(want))
		}
	})
}

func TestDamage(t *testing.T) {
	var file bytes.Buffer
	w := idlog.NewWriter(&file)
	if err := errors.Join(w.Begin(7), w.Add(1, 2, 3), w.Flush()); err != nil {
		t.Fatal(err)
	}
	whole := file.Bytes()
	for cut := 1; cut < len(whole); cut++ {
		if _, err := read(whole[:cut]); !errors.Is(err, idlog.ErrDamaged) {
			t.Errorf("cut after %d bytes: %v, want ErrDamaged", cut, err)
		}
	}
	for at := range whole {
		if at >= 4 && at < 8 {
			continue // the life is a label; nothing is counted by it alone
		}
		altered := bytes.Clone(whole)
		altered[at] ^= 1
		if _, err := read(altered); !errors.Is(err, idlog.ErrDamaged) {
			t.Errorf("byte %d altered: %v, want ErrDamaged", at, err)
		}
	}
}

func TestReadReturnsTheErrorOfItsCaller(t *testing.T) {
	var file bytes.Buffer
	w := idlog.NewWriter(&file)
	if err := errors.Join(w.Add(1), w.Flush()); err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	if err := idlog.Read(&file, func(uint32, []int64) error { return enough }); !errors.Is(err, enough) {
		t.Fatalf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	var file bytes.Buffer
	w := idlog.NewWriter(&file)
	if err := errors.Join(w.Begin(7), w.Add(1, 2, 3), w.Begin(8), w.Add(-1), w.Flush()); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := read(b)
		if err != nil {
			if !errors.Is(err, idlog.ErrDamaged) {
				t.Fatalf("error %v is not ErrDamaged", err)
			}
			return
		}
		// What reads well must read the same after it is written again.
		var again bytes.Buffer
		w := idlog.NewWriter(&again)
		life := uint32(0)
		for _, k := range all {
			if k.life != life {
				life = k.life
				if err := w.Begin(life); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Add(k.id); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got, err := read(again.Bytes()); err != nil || !slices.Equal(got, all) {
			t.Fatalf("written again, it reads as %v, %v", got, err)
		}
	})
}
