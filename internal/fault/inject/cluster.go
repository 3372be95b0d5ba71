package inject

import (
	"context"
	"errors"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/generator"
)

// MakeOldCluster makes a cluster whose floor is the beginning of its layout's time, as one has that
// was made long ago: the clocks of a drill may go back by more than the cluster's age.
func MakeOldCluster(ctx context.Context, url, layout string, window time.Duration) error {
	l, err := generator.ParseLayout(layout)
	if err != nil {
		return err
	}
	o, err := connect.Operate(connect.Config{URL: url})
	if err != nil {
		return err
	}
	_, err = o.Create(ctx, coord.NewCluster{
		Text: lifecycle.LayoutText(l, 0), Workers: min(l.Workers(), coord.MaxWorkers), Window: generator.Tick(window / l.TickLength()),
	})
	return errors.Join(err, o.Close())
}
