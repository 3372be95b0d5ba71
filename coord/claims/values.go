package claims

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// layout is the cluster record, as JSON.
type layout struct {
	Layout string `json:"layout"`
	UUID   string `json:"uuid"`
	// Workers is the number of worker IDs that the layout has.
	Workers int `json:"workers"`
	// Floor is the tick of the cluster's making, or what all ceilings were raised to last: no
	// record's counts for less.
	Floor generator.Tick `json:"floor,omitempty"`
	// Epoch is new with every raise. What was opened in another one is void.
	Epoch string `json:"era,omitempty"`
	// Window is how far ahead of its clock a daemon asks for ceilings at most; 0 in a record that
	// does not say. Longest is the longest that it ever was.
	Window  generator.Tick `json:"window,omitempty"`
	Longest generator.Tick `json:"longest,omitempty"`
	// Trusted is the time that an operator has confirmed last: see coord.Cluster.
	Trusted generator.Tick `json:"trusted,omitempty"`
	// Identity is random, and another one after each change: no other record is the same. One
	// without it is of an earlier version, whose cluster is refused.
	Identity string `json:"identity"`
	// Range are the worker IDs that claims may name; the zero value: all.
	Range coord.WorkerRange `json:"range,omitzero"`
	// Exported: the cluster was exported, and nothing is ever granted here again.
	Exported bool `json:"exported,omitempty"`
	// Importing is the sum of the export whose records are being stored. Nobody is served before
	// all are there.
	Importing string `json:"importing,omitempty"`
}

// inspected is what operators see of it.
func (l layout) inspected() coord.Inspected {
	return coord.Inspected{Layout: l.Layout, UUID: l.UUID, Floor: l.Floor, ClusterEpoch: l.Epoch, Window: l.Window, Longest: max(l.Window, l.Longest), Range: l.Range}
}

// record is the durable entry of a worker ID, as JSON. The marks are in ticks.
type record struct {
	// Ceiling: nobody but the holder may issue at or below it.
	Ceiling generator.Tick `json:"ceiling"`
	// Issued is the last tick that the holder had issued when it wrote this.
	Issued generator.Tick `json:"issued"`
	// Time is the time that the holder knew when it last asked for a grant; 0: it has not since it
	// opened.
	Time generator.Tick `json:"time,omitempty"`
	// Holder is the ID of the last opening.
	Holder string `json:"holder"`
	// Claim is the name of the holder's claim node: the one that it opened with, or has made since.
	Claim string `json:"claim"`
	// Nonce is new in every write: by it a writer knows its own.
	Nonce string `json:"nonce"`
}

// errDamaged means that a record cannot be read. Its worker ID is not assigned: where
// its ceiling was is unknown.
var errDamaged = errors.New("the record is damaged")

// member is the value of a claim node, as JSON.
type member struct {
	Host        string `json:"host"`
	PID         int    `json:"pid"`
	Incarnation string `json:"incarnation"`
	Version     string `json:"version"`
	Boot        string `json:"boot,omitempty"`
	// Since is when the claim was made, in milliseconds since 1970 by the
	// claimant's clock; 0 if it does not say.
	Since int64 `json:"since,omitempty"`
}

// since is the member's Since; zero if unknown.
func since(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// ValidToken reports whether s can be an incarnation or a token: 1 to 64 letters
// and digits. A store's names are made of them.
func ValidToken(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // only strings and integers are encoded
		panic(err)
	}
	return b
}

// errEarlier means that the cluster was made by an earlier version, which follows other rules.
var errEarlier = errors.New("the cluster was made by an earlier version: stop that version's daemons, and make one at another prefix, or in another directory, " +
	"with `flakeward cluster create`, which begins after all that they can have been granted")

func decodeLayout(b []byte) (layout, error) {
	var l layout
	if err := decode(b, &l); err != nil {
		return layout{}, err
	}
	switch {
	case l.Layout == "" || l.UUID == "":
		return layout{}, errors.New("layout or uuid is missing")
	case l.Identity == "":
		return layout{}, errEarlier
	case l.Floor < 0:
		return layout{}, errors.New("the floor is negative")
	case l.Window < 0 || l.Longest < 0:
		return layout{}, errors.New("a window is negative")
	case l.Workers < 1 || l.Workers > coord.MaxWorkers:
		return layout{}, fmt.Errorf("%d worker IDs are not 1 to %d", l.Workers, coord.MaxWorkers)
	}
	if r := l.Range; r.Count == 0 && r.First != 0 || r.Count < 0 || r.Count > coord.MaxWorkers || r.First < 0 || r.First > coord.MaxWorkers-r.Count || r.Last() >= l.Workers {
		return layout{}, errors.New("the range of worker IDs is none of the layout's")
	}
	return l, nil
}

func decodeRecord(b []byte) (record, error) {
	var r record
	if err := decode(b, &r); err != nil {
		return record{}, err
	}
	if r.Ceiling < 0 || r.Issued < 0 {
		return record{}, errors.New("a mark is negative")
	}
	r.Time = max(0, r.Time) // one of before the layout's first tick is no time of a member
	if r.Holder == "" || r.Nonce == "" {
		return record{}, errors.New("holder or nonce is missing")
	}
	return r, nil
}

func decodeMember(b []byte) (member, error) {
	var m member
	if err := decode(b, &m); err != nil {
		return member{}, err
	}
	return m, nil
}

// decodeHost returns the worker ID that a host had last.
func decodeHost(b []byte) (int, error) {
	n, err := strconv.ParseUint(string(b), 10, 31)
	if err != nil || n >= coord.MaxWorkers {
		return 0, fmt.Errorf("%q is no worker ID", b)
	}
	return int(n), nil
}

// decode takes exactly one JSON value. Fields that it does not know are those
// of a later version and are left alone.
func decode(b []byte, into any) error {
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("not the JSON that was expected: %w", err)
	}
	return nil
}
