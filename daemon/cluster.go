package daemon

import (
	"fmt"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/generator"
)

// NewCluster is what a cluster for daemons with these settings is made with, still without its
// range and floor; its layout, and its window.
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
		Text: lifecycle.LayoutText(layout, c.IDs.Datacenter), Workers: min(layout.Workers(), coord.MaxWorkers), Window: max(4, layout.Ticks(window)),
	}, layout, window, nil
}

// joins is what the daemon joins a cluster with, without its window. The configuration has been
// validated.
func (c Config) joins(layout *generator.Layout) coord.Layout {
	return coord.Layout{Text: lifecycle.LayoutText(layout, c.IDs.Datacenter), Workers: min(layout.Workers(), coord.MaxWorkers)}
}
