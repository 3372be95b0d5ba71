package daemon

import (
	"fmt"
	"math"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/generator"
)

// validateCluster checks what the cluster is made with.
func (i IDs) validateCluster(layout *generator.Layout, bad func(flag, format string, args ...any)) {
	workers := min(layout.Workers(), coord.MaxWorkers)
	ids, err := coord.ParseWorkerRange(i.WorkerRange)
	if err == nil {
		_, err = ids.Within(workers)
	}
	switch count := ids.Of(workers).Count; {
	case err != nil:
		bad("worker-range", "%v", err)
	case i.Lanes > count:
		bad("worker-range", "%v has %d worker IDs, which are less than the %d of --lanes", ids, count, i.Lanes)
	}
	if _, err := tickOfID(layout, i.AboveID); err != nil {
		bad("above-id", "%v", err)
	}
}

// tickOfID is the tick of an ID; 0 for no ID.
func tickOfID(layout *generator.Layout, id uint64) (generator.Tick, error) {
	if id > math.MaxInt64 {
		return 0, fmt.Errorf("%d is no ID: the highest is %d", id, int64(math.MaxInt64))
	}
	parts, err := layout.Decompose(int64(id))
	switch {
	case err != nil:
		return 0, err
	case parts.Tick >= layout.MaxTick():
		return 0, fmt.Errorf("%d is at the end of the layout's time: no ID could ever be issued", id)
	}
	return parts.Tick, nil
}

// NewCluster is what a cluster for daemons with these settings is made with, still without its range
// and floor; its layout, and its window.
func (c Config) NewCluster() (coord.NewCluster, *generator.Layout, time.Duration, error) {
	layout, err := generator.ParseLayout(c.IDs.Layout)
	if err != nil {
		return coord.NewCluster{}, nil, 0, fmt.Errorf("--layout: %w", err)
	}
	if most := layout.Max(generator.Datacenter); c.IDs.Datacenter > most {
		return coord.NewCluster{}, nil, 0, fmt.Errorf("--datacenter: %d does not fit the layout's %d datacenter bits: the highest is %d", c.IDs.Datacenter, layout.Bits(generator.Datacenter), most)
	}
	window := c.timing(layout).Window
	if window < 0 || window > 24*time.Hour {
		return coord.NewCluster{}, nil, 0, fmt.Errorf("--window: %v is not within 0 and 24h", window)
	}
	return coord.NewCluster{
		Text: grant.LayoutText(layout, c.IDs.Datacenter), Workers: min(layout.Workers(), coord.MaxWorkers), Window: max(4, generator.Tick((window+layout.TickLength()-1)/layout.TickLength())),
	}, layout, window, nil
}

// joins is what the daemon joins a cluster with, without its window. The configuration has been
// validated.
func (c Config) joins(layout *generator.Layout) coord.Layout {
	ids, _ := coord.ParseWorkerRange(c.IDs.WorkerRange)
	above, _ := tickOfID(layout, c.IDs.AboveID)
	return coord.Layout{
		Text: grant.LayoutText(layout, c.IDs.Datacenter), Workers: min(layout.Workers(), coord.MaxWorkers), Range: ids, Above: above,
	}
}
