package claims

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// nodes are the claim nodes of this incarnation in use, and orphans.
type nodes struct {
	store       Store
	cluster     *membership
	incarnation string
	dead        string // see coord.Identity.Dead
	log         hclog.Logger

	mu         sync.Mutex
	live       map[string]bool // tokens of the nodes in use or being made
	searches   int             // publishes that are still to look for orphans
	unanswered bool            // the creation of a node may still be under way
	publishes  int             // since the last one that looked for orphans
}

// An orphan is a claim node of this incarnation that nothing uses, or of a dead one:
// the reply to its creation or deletion was lost, or its caller gave up. It bars its
// worker ID until it is deleted or the session ends. Nodes are distinguished by their
// tokens: a store may complete a name only when it makes the node.

// searchesEach is how many publishes look for orphans after each event that can leave one. A
// request can reach the servers after its caller gave up on it, so one look is not enough.
const searchesEach = 6

// searchSeldom is how many publishes later the next one looks after those. The creation of a node
// that was never answered can reach the servers as late as it likes, and no answer tells that it
// never will, so the looks do not end with searchesEach: the session would keep a node that nobody
// uses, and nobody would have its worker ID.
const searchSeldom = 16

// use marks the node as in use or being made.
func (n *nodes) use(token string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.live[token] = true
}

// unuse is for a node that surely does not exist.
func (n *nodes) unuse(token string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.live, token)
}

// orphan is for a node that may exist or may come to exist.
func (n *nodes) orphan(token string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.live, token)
	n.searches = searchesEach
}

// unanswer is orphan for a node whose creation was not answered.
func (n *nodes) unanswer(token string) {
	n.orphan(token)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unanswered = true
}

// isOrphan reports whether the node is of this incarnation and not in use, or of one that is dead.
func (n *nodes) isOrphan(node Node) bool {
	if node.Incarnation != n.incarnation {
		return node.Incarnation == n.dead
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.live[node.Token]
}

// discard deletes a node of our own that is not to be used; if that cannot be
// done now, it is an orphan.
func (n *nodes) discard(ctx context.Context, node Node) {
	if err := n.store.Delete(ctx, node.Name); err != nil {
		n.orphan(node.Token)
		n.log.Info("a claim of our own could not be deleted; a later publish will", "claim", node.Name, "error", err)
		return
	}
	n.unuse(node.Token)
}

// reap deletes our own orphans, if there may be any.
func (n *nodes) reap(ctx context.Context) {
	n.mu.Lock()
	searches := n.searches
	n.publishes++
	due := searches > 0 || n.unanswered && n.publishes >= searchSeldom
	if due {
		n.publishes = 0
	}
	n.mu.Unlock()
	if !due {
		return
	}
	if err := n.deleteOrphans(ctx); err != nil {
		n.log.Info("claims of our own that are not in use could not be looked for; a later publish will", "error", err)
		return
	}
	n.mu.Lock()
	if n.searches == searches { // nothing happened meanwhile
		n.searches = max(0, searches-1)
	}
	n.mu.Unlock()
}

func (n *nodes) deleteOrphans(ctx context.Context) error {
	var found []Node
	err := n.cluster.inCluster(ctx, func(j *cluster) (err error) {
		found, err = n.store.Claims(ctx, j.entry, false)
		return err
	})
	if err != nil {
		return err
	}
	for _, node := range found {
		if node.Incarnation != n.incarnation || !n.isOrphan(node) {
			continue
		}
		if err := n.store.Delete(ctx, node.Name); err != nil {
			return fmt.Errorf("claim %s: %w", node.Name, err)
		}
		n.log.Info("deleted a claim of our own that nothing used", "claim", node.Name)
	}
	return nil
}
