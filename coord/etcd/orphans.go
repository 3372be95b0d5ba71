package etcd

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// An orphan is a claim node of this incarnation that nothing uses: the reply to
// its creation or deletion was lost, or its caller gave up. It bars its worker ID
// until it is deleted or the session ends.

// searches is how many publishes look for orphans after each event that can leave
// one. A request can reach etcd after its caller gave up on it, so one look is not
// enough.
const searches = 6

// use marks the node as in use or being made.
func (c *Coordinator) use(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[name] = true
}

// unuse is for a node that surely does not exist.
func (c *Coordinator) unuse(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, name)
}

// orphan is for a node that may exist or may come to exist.
func (c *Coordinator) orphan(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.live, name)
	c.doubts = searches
}

// isOrphan reports whether the node is of this incarnation and not in use.
func (c *Coordinator) isOrphan(name string) bool {
	n, ok := parseName(name)
	if !ok || n.incarnation != c.identity.Incarnation {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.live[name]
}

// abandon deletes a node of our own that is not to be used; if that cannot be
// done now, it is an orphan.
func (c *Coordinator) abandon(ctx context.Context, name string) {
	if err := c.deleteNode(ctx, name); err != nil {
		c.orphan(name)
		c.log.Info("a claim of our own could not be deleted; a later publish will", "claim", name, "error", err)
		return
	}
	c.unuse(name)
}

func (c *Coordinator) deleteNode(ctx context.Context, name string) error {
	_, err := c.txn(ctx, kindDelete, nil, []clientv3.Op{clientv3.OpDelete(c.keys.claim(name))}, nil)
	return err
}

// deletePredecessor deletes the claim node of a process that is dead.
func (c *Coordinator) deletePredecessor(ctx context.Context, name string) error {
	n, ok := parseName(name)
	if !ok {
		c.log.Warn("the predecessor's claim has a name that this coordinator does not give; it is ignored", "claim", name)
		return nil
	}
	if n.incarnation == c.identity.Incarnation && !c.isOrphan(name) {
		c.log.Warn("the predecessor's claim is one that this process uses; it is kept", "claim", name)
		return nil
	}
	return c.deleteNode(ctx, name)
}

// reap deletes the orphans of the current session, if there may be any.
func (c *Coordinator) reap(ctx context.Context) {
	c.mu.Lock()
	s, doubts := c.current, c.doubts
	c.mu.Unlock()
	if s == nil || doubts == 0 {
		return
	}
	if err := c.reapSession(ctx, s); err != nil {
		c.log.Info("claims of our own that are not in use could not be looked for; a later publish will", "error", err)
		return
	}
	c.mu.Lock()
	if c.doubts == doubts { // nothing happened meanwhile
		c.doubts--
	}
	c.mu.Unlock()
}

func (c *Coordinator) reapSession(ctx context.Context, s *session) error {
	var keys [][]byte
	err := c.try(ctx, "list the session's claims", func(ctx context.Context) error {
		resp, err := c.lease.TimeToLive(ctx, s.id, clientv3.WithAttachedKeys())
		if err == nil {
			keys = resp.Keys
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, key := range keys {
		name, ok := strings.CutPrefix(string(key), c.keys.claims())
		if !ok || !c.isOrphan(name) {
			continue
		}
		if err := c.deleteNode(ctx, name); err != nil {
			return fmt.Errorf("claim %s: %w", name, err)
		}
		c.log.Info("deleted a claim of our own that nothing used", "claim", name)
	}
	return nil
}
