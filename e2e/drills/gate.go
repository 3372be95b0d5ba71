//go:build e2e

package drills

import "context"

// gate lets many do what disturbs the machine, or one be quiet.
type gate struct {
	inside chan struct{} // an entry for each who is inside
	quiet  chan struct{} // an entry while somebody collects, or has, all of them
}

// gateWidth is how many may be inside at once; more wait.
const gateWidth = 16

func newGate() *gate {
	return &gate{inside: make(chan struct{}, gateWidth), quiet: make(chan struct{}, 1)}
}

type gateKey struct{}

// enter waits until nobody is quiet. With a ctx of hold or alone it does not wait: who has that ctx
// is inside.
func (g *gate) enter(ctx context.Context) (release func(), err error) {
	if ctx.Value(gateKey{}) != nil {
		return func() {}, nil
	}
	select {
	case g.inside <- struct{}{}:
		return func() { <-g.inside }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// hold enters and returns a ctx of one who is inside.
func (g *gate) hold(ctx context.Context) (context.Context, func(), error) {
	release, err := g.enter(ctx)
	return context.WithValue(ctx, gateKey{}, true), release, err
}

// alone waits until nobody is inside, and keeps all others out until release is called.
func (g *gate) alone(ctx context.Context) (_ context.Context, release func(), err error) {
	select {
	case g.quiet <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	got := 0
	release = func() {
		for range got {
			<-g.inside
		}
		<-g.quiet
	}
	for ; got < gateWidth; got++ {
		select {
		case g.inside <- struct{}{}:
		case <-ctx.Done():
			release()
			return nil, nil, context.Cause(ctx)
		}
	}
	return context.WithValue(ctx, gateKey{}, true), release, nil
}
