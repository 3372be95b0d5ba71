package report

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

const second = evidence.Mono(time.Second)

// start is far from 0, as the clock of a machine that has run for a while is.
const start = 5000 * second

// made makes up a drill: hosts whose rates wander, and which are stalled while one of the spans (in seconds) lasts.
func made(name, coordinator string, hosts int, length time.Duration, faults []Fault, stalls map[int][][2]float64) Drill {
	d := Drill{
		Name: name, Coordinator: coordinator, What: "Something is done to a host under load; every ID stays unique, and it serves again at once.",
		Took: length + 5*time.Second, Faults: faults, Began: start, Ended: start + evidence.Mono(length),
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(name))))
	every := Every(d.Began, d.Ended)
	for h := range hosts {
		l := Line{Host: fmt.Sprintf("host-%d", h+1), Every: every}
		for _, s := range stalls[h] {
			l.Stalls = append(l.Stalls, Span{start + evidence.Mono(s[0]*1e9), start + evidence.Mono(s[1]*1e9)})
		}
		for at := d.Began; at < d.Ended; at += evidence.Mono(every) {
			n := every.Seconds() * (38_000 + 6_000*rng.NormFloat64())
			for _, s := range l.Stalls {
				if at >= s.From && at < s.To {
					n = 0
				}
			}
			l.IDs = append(l.IDs, uint32(max(n, 0)))
			d.IDs += uint64(max(n, 0))
		}
		d.Hosts = append(d.Hosts, l)
	}
	d.Received = d.IDs - d.IDs/1000
	d.LongestStall, d.Recovery = LongestStall(d.Hosts), Recovery(d.Faults, d.Hosts)
	return d
}

// fault is one from one second to another of a drill.
func fault(host, kind string, from, to float64) Fault {
	return Fault{At: start + evidence.Mono(from*1e9), Until: start + evidence.Mono(to*1e9), Host: host, Kind: kind}
}

// oscillating is steps of a clock to and fro.
func oscillating(host string, n int, from, every float64) []Fault {
	var faults []Fault
	for i := range n {
		kind := "clock +200ms"
		if i%2 == 1 {
			kind = "clock -200ms"
		}
		at := from + float64(i)*every
		faults = append(faults, fault(host, kind, at, at))
	}
	return faults
}

// killing is members of a coordinator that are killed one after the other, and started again.
func killing(n int, every, down float64) []Fault {
	var faults []Fault
	for i := range n {
		at := 3 + float64(i)*every
		faults = append(faults, fault(fmt.Sprintf("etcd-%d", i*7%3+1), "kill -9", at, at+down))
	}
	return faults
}

// several is drills as they may come.
func several() []Drill {
	both := append(oscillating("host-2", 200, 20, 0.05), fault("host-1", "clock -1h", 10, 10), fault("host-3", "kill -9", 12, 17.5))
	many := []Fault{fault("", "clock -150ms", 30, 30), fault("", "all members gone", 600, 660)}
	kinds := []string{"kill -9", "pause", "cut off", "clock -30s", "cut off in", "disk full", "clock +1h"}
	for i := range 38 {
		at := 15 + float64(i)*22.7
		long := float64(i%3) * 4
		many = append(many, fault(fmt.Sprintf("host-%d", i%5+1), kinds[i%len(kinds)], at, at+long))
	}
	return []Drill{
		made("no-faults", "etcd", 3, 20*time.Second, nil, nil),
		made("clock-back-1h", "etcd", 3, 30*time.Second, []Fault{fault("host-1", "clock -1h", 12, 12)}, map[int][][2]float64{0: {{12.001, 12.32}}, 1: {{4, 4.02}}}),
		made("oscillation", "etcd", 3, 40*time.Second, both, map[int][][2]float64{0: {{10, 10.4}}, 2: {{12, 18.3}}, 1: {{22, 22.4}, {25, 25.2}}}),
		made("leader-killed", "etcd", 3, 90*time.Second, killing(14, 6, 3), map[int][][2]float64{1: {{33, 33.02}}}),
		made("quorum-lost", "ZooKeeper", 3, 90*time.Second, []Fault{fault("zookeeper-1", "kill -9", 10, 70), fault("zookeeper-3", "kill -9", 10.2, 70.3), fault("", "window over", 32, 32)},
			map[int][][2]float64{0: {{31, 71.2}}, 1: {{32.5, 71.4}}, 2: {{30.9, 70.9}}}),
		made("everything", "ZooKeeper", 5, 15*time.Minute, many, map[int][][2]float64{0: {{15, 21}, {128, 133}, {600, 662}}, 1: {{40, 41}}, 4: {{610, 661.2}, {105, 125}}}),
	}
}
