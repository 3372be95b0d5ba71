// Package history reads back, from the coordinator's own store and not from what any
// daemon says, every version that a worker ID's record ever had.
//
// It shares no code with what writes the records: an error there is not repeated here.
package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// Version is one stored version of a worker ID's record.
type Version struct {
	// Order is the coordinator's own order of writes: etcd's revision, ZooKeeper's zxid.
	Order   int64          `json:"order"`
	Worker  int            `json:"worker"`
	Ceiling generator.Tick `json:"ceiling"`
	Issued  generator.Tick `json:"issued"`
	Holder  string         `json:"holder,omitempty"` // the opening
	Claim   string         `json:"claim,omitempty"`  // the claim node that it was opened with
	// Gone is set on the version that says that the record was deleted: then only Order and Worker
	// are set.
	Gone bool `json:"gone,omitempty"`
}

// check says what no version can be.
func (v Version) check() error {
	switch {
	case v.Order <= 0:
		return fmt.Errorf("its order %d is not positive", v.Order)
	case v.Worker < 0 || v.Worker >= coord.MaxWorkers:
		return fmt.Errorf("%d is no worker ID", v.Worker)
	case v.Ceiling < 0 || v.Issued < 0:
		return errors.New("a tick is negative")
	case v.Holder == "":
		return errors.New("it has no holder")
	}
	return nil
}

// version is what a record's JSON says.
func version(order int64, worker int, value []byte) (Version, error) {
	var stored struct {
		Ceiling, Issued *generator.Tick
		Holder, Claim   string
	}
	d := json.NewDecoder(bytes.NewReader(value))
	err := d.Decode(&stored)
	if err == nil && (stored.Ceiling == nil || stored.Issued == nil) {
		err = errors.New("ceiling or issued is missing")
	}
	if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("something follows the JSON")
	}
	if err != nil {
		return Version{}, err
	}
	v := Version{
		Order: order, Worker: worker, Holder: stored.Holder, Claim: stored.Claim,
		Ceiling: *stored.Ceiling, Issued: *stored.Issued,
	}
	return v, v.check()
}

// workerOf reads the last part of a record's key or path.
func workerOf(name string) (int, error) {
	const digits = 7
	n, err := strconv.ParseUint(name, 10, 31)
	if err != nil || len(name) != digits || n >= coord.MaxWorkers {
		return 0, fmt.Errorf("%q is no worker ID in %d digits: whoever put it there is not flakeward", name, digits)
	}
	return int(n), nil
}

// rooted is the path of the tree, with a slash before it and none after.
func rooted(root string) (string, error) {
	trimmed := strings.Trim(root, "/")
	if trimmed == "" {
		return "", errors.New("history: no tree is named; give its prefix or chroot, such as /flakeward")
	}
	return "/" + trimmed, nil
}
