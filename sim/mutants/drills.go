package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// drill has the drills of a bug run on a daemon that is built with it. Violations are what has to
// be found, by each drill on each coordinator: to fail otherwise is no proof, for a daemon that
// does not start does that, too.
func (h hunt) drill(ctx context.Context, b bug, overlay string) (found, missed []string, err error) {
	image := "flakeward-drill:mutant-" + b.name
	if err := h.shown(ctx, "env", "GOFLAGS=-buildvcs=false -overlay="+overlay, "scripts/load-image", image, "e2e", "./drilldaemon", "drill"); err != nil {
		return nil, nil, err
	}
	defer func() {
		err = errors.Join(err, h.shown(context.WithoutCancel(ctx), "docker", "image", "rm", image))
	}()
	name := "mutant" + strings.ReplaceAll(b.name, "-", "")
	runs := filepath.Join(h.root, "e2e", "runs-"+name)
	defer func() { err = errors.Join(err, os.RemoveAll(runs)) }()
	for _, run := range b.drills {
		// That it fails is what is wanted: how, its records say.
		failure := h.shown(ctx, "env", "IMAGES=kept", "e2e/drills/run.sh", run, "-image", image, "-name", name)
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		records, err := filepath.Glob(filepath.Join(runs, "*", "*", "drill.json"))
		if err != nil || len(records) == 0 {
			return nil, nil, fmt.Errorf("no drill %q was run: %w", run, errors.Join(err, failure))
		}
		for _, path := range records {
			var d struct {
				Name, Coordinator, Failed string
				Violations                uint64
			}
			text, err := os.ReadFile(path)
			if err == nil {
				err = json.Unmarshal(text, &d)
			}
			if err != nil {
				return nil, nil, fmt.Errorf("%s: %w", path, err)
			}
			who := d.Name + " on " + d.Coordinator
			switch {
			case d.Violations > 0:
				found = append(found, fmt.Sprintf("%s (%d violations)", who, d.Violations))
			case d.Failed != "":
				missed = append(missed, fmt.Sprintf("%s (it failed: %s)", who, d.Failed))
			default:
				missed = append(missed, who)
			}
		}
	}
	return found, missed, nil
}

// shown runs a command in the source's root and passes its output on.
func (h hunt) shown(ctx context.Context, name string, args ...string) error {
	c := command(ctx, h.root, name, args...) // an interrupt lets the drills remove what they started
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
