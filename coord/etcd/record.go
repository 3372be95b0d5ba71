package etcd

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// record is the durable entry of a worker ID, as JSON. The marks are in ticks.
type record struct {
	// Ceiling: nobody but the holder may issue at or below it.
	Ceiling generator.Tick `json:"ceiling"`
	// Issued is the last tick that the holder had issued when it wrote this.
	Issued generator.Tick `json:"issued"`
	// Mark is the mark of the holder's journal, on disk when this was sent. A
	// journal with a lower mark is an older copy and is not continued.
	Mark generator.Tick `json:"mark"`
	// Holder is the ID of the last opening.
	Holder string `json:"holder"`
	// Claim is the name of the claim node that the holder opened with.
	Claim string `json:"claim"`
	// Nonce is new in every write: by it a writer knows its own.
	Nonce string `json:"nonce"`
}

// errDamaged means that a record cannot be read. Its worker ID is not dealt: where
// its ceiling was is unknown.
var errDamaged = errors.New("the record is damaged")

// member is the value of a claim node, as JSON.
type member struct {
	Host        string `json:"host"`
	PID         int    `json:"pid"`
	Incarnation string `json:"incarnation"`
	Version     string `json:"version"`
}

// layout is the cluster's layout record, as JSON.
type layout struct {
	Layout string `json:"layout"`
	UUID   string `json:"uuid"`
}

// token returns 130 random bits as letters and digits.
func token() string { return rand.Text() }

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // only strings and integers are encoded
		panic(err)
	}
	return string(b)
}

func decodeRecord(b []byte) (record, error) {
	var r record
	if err := decode(b, &r); err != nil {
		return record{}, err
	}
	if r.Ceiling < 0 || r.Issued < 0 || r.Mark < 0 {
		return record{}, errors.New("a mark is negative")
	}
	if r.Holder == "" || r.Nonce == "" {
		return record{}, errors.New("holder or nonce is missing")
	}
	return r, nil
}

func decodeLayout(b []byte) (layout, error) {
	var l layout
	if err := decode(b, &l); err != nil {
		return layout{}, err
	}
	if l.Layout == "" || l.UUID == "" {
		return layout{}, errors.New("layout or uuid is missing")
	}
	return l, nil
}

func decodeMember(b []byte) (coord.Identity, error) {
	var m member
	if err := decode(b, &m); err != nil {
		return coord.Identity{}, err
	}
	return coord.Identity(m), nil
}

// decode takes exactly one JSON object. Fields that it does not know are those
// of a later version and are left alone.
func decode(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("not the JSON that was expected: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON")
	}
	return nil
}
