package claims

import (
	"context"
	"fmt"
)

// An orphan is a claim node of this incarnation that nothing uses: the reply to
// its creation or deletion was lost, or its caller gave up. It bars its worker ID
// until it is deleted or the session ends. Nodes are told apart by their tokens: a
// store may make up the rest of a name only when it makes the node.

// searches is how many publishes look for orphans after each event that can leave
// one. A request can reach the servers after its caller gave up on it, so one look
// is not enough.
const searches = 6

// use marks the node as in use or being made.
func (c *Coordinator) use(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[token] = true
}

// unuse is for a node that surely does not exist.
func (c *Coordinator) unuse(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, token)
}

// orphan is for a node that may exist or may come to exist.
func (c *Coordinator) orphan(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, token)
	// Each of the daemon's claims publishes: as much time is to pass as with one.
	c.doubts = searches * max(1, len(c.live))
}

// isOrphan reports whether the node is of this incarnation and not in use.
func (c *Coordinator) isOrphan(n Node) bool {
	if n.Incarnation != c.identity.Incarnation {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.live[n.Token]
}

// abandon deletes a node of our own that is not to be used; if that cannot be
// done now, it is an orphan.
func (c *Coordinator) abandon(ctx context.Context, n Node) {
	if err := c.store.Delete(ctx, n.Name); err != nil {
		c.orphan(n.Token)
		c.log.Info("a claim of our own could not be deleted; a later publish will", "claim", n.Name, "error", err)
		return
	}
	c.unuse(n.Token)
}

// deletePredecessor deletes the claim node of a process that is dead.
func (c *Coordinator) deletePredecessor(ctx context.Context, name string) error {
	n, ok := c.store.Parse(name)
	if !ok {
		c.log.Warn("the predecessor's claim has a name that this coordinator does not give; it is ignored", "claim", name)
		return nil
	}
	if n.Incarnation == c.identity.Incarnation && !c.isOrphan(n) {
		c.log.Warn("the predecessor's claim is one that this process uses; it is kept", "claim", name)
		return nil
	}
	return c.store.Delete(ctx, name)
}

// reap deletes our own orphans, if there may be any.
func (c *Coordinator) reap(ctx context.Context) {
	c.mu.Lock()
	doubts := c.doubts
	c.mu.Unlock()
	if doubts == 0 {
		return
	}
	if err := c.deleteOrphans(ctx); err != nil {
		c.log.Info("claims of our own that are not in use could not be looked for; a later publish will", "error", err)
		return
	}
	c.mu.Lock()
	if c.doubts == doubts { // nothing happened meanwhile
		c.doubts--
	}
	c.mu.Unlock()
}

func (c *Coordinator) deleteOrphans(ctx context.Context) error {
	own, err := c.store.Own(ctx)
	if err != nil {
		return err
	}
	for _, n := range own {
		if !c.isOrphan(n) {
			continue
		}
		if err := c.store.Delete(ctx, n.Name); err != nil {
			return fmt.Errorf("claim %s: %w", n.Name, err)
		}
		c.log.Info("deleted a claim of our own that nothing used", "claim", n.Name)
	}
	return nil
}
