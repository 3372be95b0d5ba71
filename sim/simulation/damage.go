package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/sim/tree"
)

// damage is a value of the tree that was spoiled, until an operator puts it right.
type damage struct {
	bad []byte
	now func() []byte // what is there now
	put func()        // puts a right value in its place
}

// spoil puts a bad value in the place of a right one for a while.
func (sim *Simulation) spoil(f Fault, d *damage) bool {
	sim.damaged = append(sim.damaged, d)
	return sim.until(f, func() { sim.mend(d) })
}

// mend puts one value right, if nobody else has.
func (sim *Simulation) mend(d *damage) {
	for i, other := range sim.damaged {
		if other == d {
			sim.damaged = append(sim.damaged[:i], sim.damaged[i+1:]...)
			if bytes.Equal(d.now(), d.bad) {
				d.put()
			}
			return
		}
	}
}

// mendAll puts everything right.
func (sim *Simulation) mendAll() {
	for len(sim.damaged) > 0 {
		sim.mend(sim.damaged[0])
	}
}

// damageTree spoils what the coordinator keeps. A daemon with an old journal is not promised to see
// through it then.
func (sim *Simulation) damageTree(f Fault, s *slot) bool {
	switch f.Kind {
	case DamagedLayout:
		return sim.damageLayout(f)
	case DamagedRecord:
		return sim.damageRecord(f, s)
	default:
		return sim.damageHint(f, s)
	}
}

func (sim *Simulation) damageLayout(f Fault) bool {
	right := sim.tree.Layout()
	if clusterOf(right) == "" || len(sim.damaged) > 0 {
		return false
	}
	var text struct{ Layout string }
	_ = json.Unmarshal(right, &text)
	with := func(fields string) []byte {
		var all map[string]json.RawMessage
		_ = json.Unmarshal(right, &all)
		_ = json.Unmarshal([]byte(strings.ReplaceAll(fields, "LAYOUT", text.Layout)), &all)
		b, _ := json.Marshal(all)
		return b
	}
	bad := pick(sim.random, []byte("{"), append(bytes.Clone(right), "{}"...), with(`{"uuid":""}`), with(`{"floor":-1}`), with(`{"window":-1}`), with(`{"workers":100000000}`),
		with(`{"above":-1}`), with(`{"above":1}`), with(`{"range":{"first":0,"count":-1}}`), with(`{"exported":"none"}`),
		with(`{"layout":"time=40@1ms,worker=2,sequence=8;epoch=2020-01-01"}`),
		with(`{"layout":"LAYOUT; exported, or being imported","exported":true}`),
		with(`{"layout":"LAYOUT; with --worker-range or --above-id, which takes a later version","range":{"first":0,"count":1}}`))
	sim.tree.SetLayout(bad)
	return sim.spoil(f, &damage{bad, sim.tree.Layout, func() { sim.tree.SetLayout(right) }})
}

// damagedLayout reports whether the cluster record is spoiled now.
func (sim *Simulation) damagedLayout() bool {
	return slices.ContainsFunc(sim.damaged, func(d *damage) bool { return bytes.Equal(d.bad, sim.tree.Layout()) })
}

func (sim *Simulation) damageRecord(f Fault, s *slot) bool {
	worker := sim.workerOf(s)
	right := sim.tree.Record(worker)
	if len(right) == 0 {
		return false
	}
	for _, d := range sim.damaged {
		if bytes.Equal(right, d.bad) {
			return false
		}
	}
	bad := pick(sim.random, []byte("{"), append(bytes.Clone(right), "{}"...), []byte(`{"ceiling":-1,"holder":"x","nonce":"x"}`), []byte(`{"ceiling":1,"nonce":"x"}`))
	sim.tree.SetRecord(worker, bad, false)
	return sim.spoil(f, &damage{bad, func() []byte { return sim.tree.Record(worker) }, func() {
		// As the error says: with a ceiling that is late enough. Where the record is made again its
		// versions start over: its holder is ended first, and whoever has seen more of them must be
		// started again.
		if sim.plan.Servers == tree.ZooKeeper {
			sim.endHolders(worker)
		}
		sim.tree.SetRecord(worker, fmt.Appendf(nil, `{"ceiling":%d,"holder":"operator%d","nonce":"%d"}`, sim.highest, sim.operators.Uint64(), sim.operators.Uint64()), true)
		if sim.plan.Servers == tree.ZooKeeper {
			sim.startAgain()
		}
	}})
}

// endHolders kills the daemons that hold a worker ID.
func (sim *Simulation) endHolders(worker int) {
	for _, s := range sim.slots {
		if s.proc != nil && s.proc.holder.Holding().Worker == worker {
			s.proc.end("killed, so that its record can be made anew", 100*time.Millisecond)
		}
	}
}

// damageHint spoils what nothing rests on.
func (sim *Simulation) damageHint(_ Fault, s *slot) bool {
	if sim.random.IntN(4) == 0 {
		sim.tree.SetHost(s.hostName, []byte("x"))
		return true
	}
	sim.tree.SetHistory(sim.workerOf(s), pick(sim.random, []byte("["), []byte(`[{"from":-1}]`), []byte(`[{"from":2},{"from":1}]`)))
	return true
}

// workerOf is the worker ID that a daemon holds, or any.
func (sim *Simulation) workerOf(s *slot) int {
	if s.proc != nil {
		if worker := s.proc.holder.Holding().Worker; worker >= 0 {
			return worker
		}
	}
	return sim.random.IntN(sim.layout.Workers())
}

// damageJournal kills a daemon and leaves its journal as no daemon does: the record rules then.
func (sim *Simulation) damageJournal(s *slot, down time.Duration) bool {
	data, err := s.disk.Read()
	if err != nil {
		return false
	}
	text := newest(bytes.Clone(data))
	if text == nil { // damaged before
		return false
	}
	left := "damaged"
	variant := sim.random.IntN(len(spoilers) + 2)
	s.proc.end("killed", down)
	s.inPlace = false
	switch {
	case variant < len(spoilers):
		s.disk.Put(spoilers[variant](text))
	case variant == len(spoilers):
		left = "no file"
		s.disk.Unread = &journal.TornError{Reason: "it is no regular file"}
	default:
		left = "not to be read"
		s.disk.Unread = syscall.EIO
	}
	sim.say(s, "its journal is %s now", left)
	return true
}

// spoilers make of a journal's newest write a file that is not to be trusted, or of a daemon that
// has more worker IDs. A first line that is right has been made for the rest: there it is the rest
// that cannot be.
var spoilers = []func(text []byte) []byte{
	func([]byte) []byte { return []byte{} },
	func([]byte) []byte { return []byte("nothing that a daemon writes\n") },
	func(text []byte) []byte { return inSlot(text[:len(text)*2/3]) },
	func(text []byte) []byte { return inSlot(bytes.Replace(text, []byte(" 2 "), []byte(" 3 "), 1)) },
	func(text []byte) []byte { text[len(text)*2/3] ^= 4; return inSlot(text) },
	func(text []byte) []byte { return append(make([]byte, 2*slotBytes), text...) }, // beyond the end
	func(text []byte) []byte {
		return framed(bytes.Replace(bodyOf(text), []byte("{"), []byte(`{"more": 1,`), 1))
	},
	func(text []byte) []byte {
		return framed(bytes.Replace(bodyOf(text), []byte("{"), []byte(`{"coord": "x",`), 1))
	},
	replaced(`"worker": \d+`, `"worker": -1`),
	replaced(`"worker": \d+`, `"worker": 4000000`),
	replaced(`"opening": "\w+"`, `"opening": ""`),
	replaced(`"mark": \d+`, `"mark": -1`),
	replaced(`"ceiling": \d+`, `"ceiling": -1`),
	replaced(`"mark": \d+`, `"floor": -1, "mark": 1`),
	replaced(`"mark": \d+`, `"until": -1, "mark": 1`),
	replaced(`\n    \{[^}]*\}`, `$0,$0`),
	func([]byte) []byte { // what would be too large if this daemon wrote it
		var entries strings.Builder
		for i := range 1000 { // they fit into a slot as long as nothing is indented
			fmt.Fprintf(&entries, `,{"worker":%d,"opening":"o"}`, i)
		}
		return framed([]byte(`{"entries":[` + entries.String()[1:] + "]}\n"))
	},
}

func replaced(pattern, by string) func([]byte) []byte {
	form := regexp.MustCompile(pattern)
	return func(data []byte) []byte { return framed(form.ReplaceAll(bodyOf(data), []byte(by))) }
}

func bodyOf(data []byte) []byte {
	_, body, _ := bytes.Cut(data, []byte("\n"))
	return body
}

// slotBytes is as daemon/journal has it, written here a second time so that a change there shows.
const slotBytes = 1 << 15

// newest is the text of the newest write that looks whole; nil if there is none.
func newest(file []byte) (text []byte) {
	highest := 0
	for at := 0; at < len(file) && at < 2*slotBytes; at += slotBytes {
		var version, sum, number, length int
		in := file[at:min(len(file), at+slotBytes)]
		line, rest, _ := bytes.Cut(in, []byte("\n"))
		n, _ := fmt.Sscanf(string(line), "flakeward journal %d crc32c %x number %d bytes %d", &version, &sum, &number, &length)
		if n != 4 || number <= highest || length > len(rest) {
			continue
		}
		_, summed, _ := bytes.Cut(in[:len(line)+1+length], fmt.Appendf(nil, " %08x ", sum))
		if crc32.Checksum(summed, castagnoli) == uint32(sum) { // else it is torn
			highest, text = number, bytes.Clone(in[:len(line)+1+length])
		}
	}
	return text
}

// inSlot is a file that holds a text alone, where an odd write belongs.
func inSlot(text []byte) []byte { return append(make([]byte, slotBytes), text...) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// framed is such a file, with a first line that is right for the body.
func framed(body []byte) []byte {
	summed := append(fmt.Appendf(nil, "number 1 bytes %d\n", len(body)), body...)
	return inSlot(append(fmt.Appendf(nil, "flakeward journal 3 crc32c %08x ", crc32.Checksum(summed, castagnoli)), summed...))
}

// clear deletes the claim that a daemon uses.
func (sim *Simulation) clear(s *slot) bool {
	if s.proc == nil {
		return false
	}
	claim := s.proc.holder.Holding().Claim
	o, err := sim.asOperator()
	if err != nil || claim == "" {
		return false
	}
	if _, err := o.Inspect(context.Background()); err != nil {
		return false
	}
	return o.Clear(context.Background(), claim) == nil
}
