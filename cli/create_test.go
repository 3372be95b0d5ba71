package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
)

func TestCreate(t *testing.T) {
	const at = "--coord etcd://h/x "
	made := func(window, floor time.Duration, ids coord.WorkerRange) string {
		return fmt.Sprintf("create %+v", coord.NewCluster{Text: fullLayout + ";datacenter=0", Workers: 1024, Window: tickAt(window) - tickAt(0), Range: ids, Floor: tickAt(floor)})
	}
	id := int64(tickAt(-time.Second))<<22 | 5
	for _, c := range []struct {
		name, args string
		there      bool // a cluster
		unsynced   bool
		fail       error
		call       string // empty: nothing is asked
		printed    string
		err        string
		code       int
	}{
		{name: "beyond all that was ever granted", args: at, call: made(10*time.Minute, 15*time.Minute, coord.WorkerRange{}),
			printed: "created: cluster " + clusterUUID + " is at etcd://h:2379/x\nIDs are issued from 2026-01-01T12:15:00.001Z on, +15m0s\n"},
		{name: "a longer window", args: at + "--window 1h", call: made(time.Hour, 65*time.Minute, coord.WorkerRange{}), printed: "from 2026-01-01T13:05:00.001Z on"},
		{name: "a shorter window", args: at + "--window 1m", call: made(time.Minute, 15*time.Minute, coord.WorkerRange{}), printed: "from 2026-01-01T12:15:00.001Z on"},
		{name: "later", args: at + "--begin 2h", call: made(10*time.Minute, 2*time.Hour, coord.WorkerRange{}), printed: "from 2026-01-01T14:00:00.001Z on"},
		{name: "too soon", args: at + "--begin 14m", err: "give at least 15m0s", code: ExitUsage},
		{name: "empty", args: at + "--empty", unsynced: true, call: made(10*time.Minute, 0, coord.WorkerRange{}), printed: "from 2026-01-01T12:00:00.001Z on"},
		{name: "empty and later", args: at + "--empty --begin 1h", err: "give one of them", code: ExitUsage},
		{name: "a clock that may be wrong", args: at, unsynced: true, err: "synchronised", code: ExitUsage},
		{name: "a clock that may be wrong, and is right", args: at + "--yes", unsynced: true, call: made(10*time.Minute, 15*time.Minute, coord.WorkerRange{}), printed: "created"},
		{name: "a range", args: at + "--empty --range 512-1023", call: made(10*time.Minute, 0, coord.WorkerRange{First: 512, Count: 512}), printed: "created"},
		{name: "a range beyond the layout", args: at + "--range 512-1024", err: "--range", code: ExitUsage},
		{name: "after another generator", args: at + fmt.Sprint("--empty --above-id ", id), call: made(10*time.Minute, 0, coord.WorkerRange{}), printed: "created"},
		{name: "an ID of another layout", args: at + "--empty --above-id 5981966696448054276", err: "is it an ID of the layout", code: ExitUsage},
		{name: "no layout", args: at + "--layout wheel", err: "--layout", code: ExitUsage},
		{name: "a datacenter that the layout lacks", args: at + "--datacenter 1", err: "--datacenter", code: ExitUsage},
		{name: "in the default directory", args: "--empty", err: "makes its cluster by itself", code: ExitUsage},
		{name: "an argument", args: at + "x", err: "x", code: ExitUsage},
		{name: "there", args: at, there: true, call: made(10*time.Minute, 15*time.Minute, coord.WorkerRange{}), printed: "there is a cluster already, and nothing was changed: " + clusterUUID},
		{name: "there, with another layout", args: at + "--layout twitter", there: true, err: "nothing was changed", code: ExitFailed, call: "create"},
		{name: "there, with another range", args: at + "--range 0-9", there: true, err: "nothing was changed", code: ExitFailed, call: "create"},
		{name: "unknown outcome", args: at + "--empty", fail: errors.New("cut"), call: made(10*time.Minute, 0, coord.WorkerRange{}), err: "run the command again", code: ExitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := someCluster()
			if !c.there {
				s.inspected = coord.Inspected{}
			}
			if c.fail != nil {
				failing(c.call, c.fail)(s)
			}
			out, _, err := ask{standIn: s, unsynced: c.unsynced}.run(t, append([]string{"cluster", "create"}, strings.Fields(c.args)...)...)
			checkError(t, err, c.err, c.code)
			asked := strings.Join(s.calls, "\n")
			if !strings.Contains(out, c.printed) || c.call == "" && asked != "" || !strings.Contains(asked, c.call) {
				t.Errorf("asked for\n%s\nwant\n%s\nprinted\n%s", asked, c.call, out)
			}
		})
	}
}
