//go:build e2e

package drills

import (
	"context"
	"time"
)

func init() {
	register(Drill{
		Name:    "calm",
		What:    "nothing is broken: the base line for the others' stalls",
		On:      onAll,
		Options: Options{NoFault: true},
		Script: func(ctx context.Context, r *Run) {
			r.Step("nothing is broken for 5 s")
			must(r.Last(ctx, 5*time.Second))
		},
		Judge: func(res *Result) {
			for i, h := range res.Run.Hosts {
				if failed := res.Host(i).Failed(res.Host(i).begun(), res.Drill.Ended); len(failed) > 0 {
					res.Fail("%d requests failed on %s, the first with %q", len(failed), h.Name, failed[0].Text)
				}
			}
		},
	})
}
