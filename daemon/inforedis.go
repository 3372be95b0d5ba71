package daemon

import (
	"fmt"
	"os"
	"runtime/metrics"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/serve"
	"github.com/flakeward/flakeward/internal/info"
)

// spokenRedis is the version of Redis whose commands about connections the daemon has. Clients
// choose by it what they send.
const spokenRedis = "7.2.0"

// infoRedis is the sections in which tools for Redis look for what they show, by Redis' names.
func infoRedis(c serve.Counters, mostClients int) info.Info {
	inUse, resident := memoryInUse()
	user, system := processorTime()
	return info.Info{
		section("Clients",
			"connected_clients", c.Connections,
			"maxclients", mostClients,
			"blocked_clients", c.Waiting,
		),
		section("Memory",
			"used_memory", inUse,
			"used_memory_rss", resident,
		),
		section("Persistence", "loading", 0),
		section("Replication", "role", "master", "connected_slaves", 0),
		section("CPU", "used_cpu_sys", seconds(system), "used_cpu_user", seconds(user)),
		section("Keyspace"),
	}
}

// memoryInUse is how many bytes the Go runtime uses, and how many of the process are in memory. To
// ask stops no goroutine. Where the system has no statm, the latter is what the runtime has mapped.
func memoryInUse() (inUse, resident uint64) {
	samples := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	mapped := samples[0].Value.Uint64() - samples[1].Value.Uint64()
	inUse, resident = mapped-samples[2].Value.Uint64(), mapped
	var size, pages uint64
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if _, err := fmt.Sscan(string(text), &size, &pages); err == nil {
			resident = pages * uint64(os.Getpagesize())
		}
	}
	return inUse, resident
}

// processorTime is what the process has used; 0 where the system does not tell.
func processorTime() (user, system time.Duration) {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0, 0
	}
	return time.Duration(used.Utime.Nano()), time.Duration(used.Stime.Nano())
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }
