package inject

import (
	"os"
	"time"

	"github.com/flakeward/flakeward/daemon/journal"
)

// hungDisk flushes nothing while there is a file at path.
type hungDisk struct {
	journal.Disk
	path string
}

// hungEvery is how often the file is looked for.
const hungEvery = time.Millisecond

// Sync waits until the file is gone.
func (d *hungDisk) Sync() error {
	look := time.NewTicker(hungEvery)
	defer look.Stop()
	for {
		if _, err := os.Stat(d.path); err != nil {
			return d.Disk.Sync()
		}
		<-look.C
	}
}
