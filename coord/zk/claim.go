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

// Create implements claims.Store. Whatever is read after the node was made is at least as new as
// the node: a server never shows a client a state older than one it has answered with.
func (s *store) Create(ctx context.Context, layout claims.Entry, claim claims.Node) (claims.Created, error) {
	name, err := s.createNode(ctx, layout, claim)
	if err != nil {
		return claims.Created{}, err
	}
	made, err := s.look(ctx, name)
	if err != nil { // nobody learns the name, so nobody else deletes the node
		if failed := s.Delete(ctx, name); failed != nil { // then it is an orphan
			s.client.config.Log.Info("a claim of our own could not be deleted; a later publish will", "claim", name, "because", err, "error", failed)
		}
		return claims.Created{}, err
	}
	return made, nil
}

// createNode makes the node and returns its name.
func (s *store) createNode(ctx context.Context, layout claims.Entry, claim claims.Node) (string, error) {
	create := &gozk.CreateRequest{Path: s.claim(claim.Name + "-"), Data: claim.Value, Acl: s.client.access(), Flags: gozk.FlagEphemeralSequential}
	results, _, err := s.multi(ctx, layout, kindCreate, s.claims(), create)
	if verdict(err) {
		err = fmt.Errorf("%s: %s: %w", s.client.name, kindCreate, err)
	}
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(results[0].String, s.claims()+"/"), nil
}

// look reads what the opening of a new node's worker ID depends on.
func (s *store) look(ctx context.Context, name string) (claims.Created, error) {
	node, ok := claims.ParseName(name)
	if !ok {
		return claims.Created{}, fmt.Errorf("%s: %s: the node got the name %q; is %s on a version of ZooKeeper that names nodes in another way?", s.client.name, kindCreate, name, s.root)
	}
	made := claims.Created{Node: node}
	err := each(ctx, 3, func(ctx context.Context, i int) (err error) {
		switch i {
		case 0:
			made.Before, err = s.rivals(ctx, node)
		case 1:
			made.Record, err = s.client.get(ctx, kindRecord, s.path(claims.RecordOf(node.Worker)))
		case 2:
			made.History, err = s.client.get(ctx, kindHistory, s.path(claims.HistoryOf(node.Worker)))
		}
		return err
	})
	if err != nil {
		return claims.Created{}, err
	}
	return made, nil
}

// rivals returns which others name the node's worker ID that were created before, by the numbers
// that ZooKeeper has given them.
func (s *store) rivals(ctx context.Context, node claims.Node) (before []claims.Node, err error) {
	names, err := s.client.children(ctx, kindClaims, s.claims())
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, node.Name) {
		return nil, fmt.Errorf("%s: %s: the node %s: %w", s.client.name, kindCreate, node.Name, claims.ErrGone)
	}
	for _, name := range names {
		other, ok := claims.ParseName(name)
		// ZooKeeper counts with 32 bits and a sign, and some versions give the last number again
		// and again. Of two with one number each takes the other for the first.
		if ok && other.Worker == node.Worker && other.Name != node.Name && int32(other.Created-node.Created) <= 0 {
			before = append(before, other)
		}
	}
	return before, nil
}

// Number implements claims.Store: it counts how often the node above all claims was written.
func (s *store) Number(ctx context.Context, layout claims.Entry) (uint64, error) {
	results, _, err := s.multi(ctx, layout, kindNumber, s.claims(), &gozk.SetDataRequest{Path: s.claims(), Version: anyVersion})
	if verdict(err) {
		err = fmt.Errorf("%s: %s: %w", s.client.name, kindNumber, err)
	}
	if err != nil {
		return 0, err
	}
	return uint64(uint32(results[0].Stat.Version) - 1), nil
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
