package zk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/claims"
)

// Create implements claims.Store. Whatever is read after the node was made is at
// least as new as the node: a server never shows a client a state older than one it
// has answered with.
func (s *store) Create(ctx context.Context, layout claims.Entry, claim claims.Claimant) (claims.Created, error) {
	name, err := s.createNode(ctx, layout, claim)
	if err != nil {
		return claims.Created{}, err
	}
	made, err := s.look(ctx, claim, name)
	if err != nil { // nobody learns the name, so nobody else deletes the node
		if failed := s.Delete(ctx, name); failed != nil { // then Own lists it
			s.client.config.Log.Info("a claim of our own could not be deleted; a later publish will", "claim", name, "because", err, "error", failed)
		}
		return claims.Created{}, err
	}
	return made, nil
}

// createNode makes the node and returns its name.
func (s *store) createNode(ctx context.Context, layout claims.Entry, claim claims.Claimant) (string, error) {
	path := s.claim(prefixOf(claim, s.client.config.Identity.Incarnation))
	for {
		f, err := s.fences.make(ctx, layout)
		if err != nil {
			return "", err
		}
		ops := append(s.fences.guard(f), &gozk.CreateRequest{Path: path, Data: claim.Value, Acl: s.client.access(), Flags: gozk.FlagEphemeralSequential})
		results, err := tell(ctx, s.client, kindCreate, s.claims(), func(conn *gozk.Conn) ([]gozk.MultiResponse, error) {
			return conn.Multi(ops...)
		})
		switch at := failedAt(results); {
		case err == nil && len(results) == len(ops):
			return strings.TrimPrefix(results[fenced].String, s.claims()+"/"), nil
		case err == nil:
			return "", fmt.Errorf("%s: %s: %d results of %d operations", s.client.name, kindCreate, len(results), len(ops))
		case at >= 0 && at < fenced && verdict(err): // the layout is another one
			if err := s.client.sync(ctx, kindLook); err != nil {
				return "", err
			}
			if err := s.fences.stands(ctx, f); err != nil {
				return "", err
			}
		case at == fenced && errors.Is(err, gozk.ErrNoNode): // an operator deleted claims/
			if err := s.client.makeMissing(ctx, s.folders()); err != nil {
				return "", err
			}
		case verdict(err):
			return "", fmt.Errorf("%s: %s: %w", s.client.name, kindCreate, err)
		default:
			return "", err
		}
		if ctx.Err() != nil {
			return "", s.client.errChanging(ctx, kindCreate)
		}
	}
}

// failedAt returns which operation of a Multi failed, or -1: the others were then
// not tried, or undone.
func failedAt(results []gozk.MultiResponse) int {
	return slices.IndexFunc(results, func(r gozk.MultiResponse) bool { return r.Error != nil })
}

// look reads what the opening of a new node's worker ID depends on.
func (s *store) look(ctx context.Context, claim claims.Claimant, name string) (claims.Created, error) {
	node, counted, ok := parseAny(name)
	if !ok {
		return claims.Created{}, fmt.Errorf("%s: %s: the node got the name %q; is %s on a version of ZooKeeper that names nodes in another way?", s.client.name, kindCreate, name, s.root)
	}
	if node.Worker == claims.BySequence {
		if !counted {
			return claims.Created{}, fmt.Errorf("%s: %s: the sequence counter of %s has come to its end (%s), so it assigns no worker IDs any more; "+
				"stop the daemons, delete that node with all below it and start them again: the counter then starts over, and nothing else is lost. "+
				"Until then a daemon gets only the worker ID that it had: %w", s.client.name, kindCreate, s.claims(), name, claims.ErrRefused)
		}
		node.Worker = claim.Assign(node.Number)
	}
	made := claims.Created{Node: node}
	err := each(ctx, 3, func(ctx context.Context, i int) (err error) {
		switch i {
		case 0:
			made.Created, made.Before, err = s.rivals(ctx, claim, node)
		case 1:
			made.Record, err = s.client.get(ctx, kindRecord, s.record(node.Worker))
		case 2:
			made.History, err = s.client.get(ctx, kindHistory, s.history(node.Worker))
		}
		return err
	})
	if err != nil {
		return claims.Created{}, err
	}
	return made, nil
}

// rivals returns when the node was created and which others name its worker ID that
// were created before.
func (s *store) rivals(ctx context.Context, claim claims.Claimant, node claims.Node) (created int64, before []claims.Node, err error) {
	names, err := s.client.children(ctx, kindClaims, s.claims())
	if err != nil {
		return 0, nil, err
	}
	var same []claims.Node
	for _, name := range names {
		other, ok := parseName(name)
		if !ok {
			continue // it names no worker ID
		}
		if other.Worker == claims.BySequence {
			other.Worker = claim.Assign(other.Number)
		}
		if other.Worker == node.Worker && name != node.Name {
			same = append(same, other)
		}
	}
	same = append(same, node)
	err = each(ctx, len(same), func(ctx context.Context, i int) (err error) {
		same[i].Created, err = s.client.created(ctx, kindClaim, s.claim(same[i].Name))
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	created = same[len(same)-1].Created
	if created == 0 {
		return 0, nil, fmt.Errorf("%s: %s: the node %s: %w", s.client.name, kindCreate, node.Name, claims.ErrGone)
	}
	for _, other := range same {
		if other.Created != 0 && other.Created < created {
			before = append(before, other)
		}
	}
	return created, before, nil
}

// Delete implements claims.Store.
func (s *store) Delete(ctx context.Context, name string) error {
	path := s.claim(name)
	_, err := tell(ctx, s.client, kindDelete, path, func(conn *gozk.Conn) (struct{}, error) {
		return struct{}{}, conn.Delete(path, anyVersion)
	})
	if errors.Is(err, gozk.ErrNoNode) {
		return nil
	}
	return err
}

// anyVersion lets ZooKeeper check nothing. It is only for nodes whose names are one
// of a kind, and for hints; never for a record.
const anyVersion = -1

// Own implements claims.Store.
func (s *store) Own(ctx context.Context) ([]claims.Node, error) {
	if err := s.client.sync(ctx, kindClaims); err != nil {
		return nil, err
	}
	names, err := s.client.children(ctx, kindClaims, s.claims())
	if err != nil {
		return nil, err
	}
	var own []claims.Node
	for _, name := range names {
		// Also one that was not counted, and so names no worker ID.
		if node, _, ok := parseAny(name); ok && node.Incarnation == s.client.config.Identity.Incarnation {
			own = append(own, node)
		}
	}
	return own, nil
}
