package zk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/claims"
)

// tokenOf is the name of the cluster record's child, which is made and replaced with it. ZooKeeper
// compares no values, and a version is not one of a kind: a record that was deleted and created
// again counts from the beginning. The child is: no two cluster records have the same bytes, since
// each has a random identity. ZooKeeper deletes no node that has children: as long as this one is
// there, the cluster record is the one that it was made with.
func tokenOf(layout []byte) string {
	sum := sha256.Sum256(layout)
	return fmt.Sprintf("%x", sum[:16])
}

// guard returns the operations that begin each Multi: it takes place only while the cluster record
// is that one.
func (s *store) guard(layout claims.Entry) ([]any, error) {
	version, err := checked(layout.Version)
	return []any{
		&gozk.CheckVersionRequest{Path: s.layout(), Version: version},
		&gozk.CheckVersionRequest{Path: s.token(layout.Value), Version: anyVersion}, // it is there
	}, err
}

// multi sends operations behind a fence. If one of them fails, which is not for a fence, it returns
// which, and a verdict; otherwise that is -1.
func (s *store) multi(ctx context.Context, layout claims.Entry, k kind, path string, ops ...any) (results []gozk.MultiResponse, failed int, err error) {
	guard, err := s.guard(layout)
	if err != nil {
		return nil, -1, err
	}
	all := slices.Concat(guard, ops)
	for made := false; ; made = true {
		results, err := tell(ctx, s.client, k, path, func(conn *gozk.Conn) ([]gozk.MultiResponse, error) {
			return conn.Multi(all...)
		})
		// The one that failed: the others were not tried, or undone.
		switch at := slices.IndexFunc(results, func(r gozk.MultiResponse) bool { return r.Error != nil }); {
		case err == nil && len(results) == len(all):
			return results[len(guard):], -1, nil
		case err == nil:
			return nil, -1, fmt.Errorf("%s: %s: %d results of %d operations", s.client.name, k, len(results), len(all))
		case at < 0 || !verdict(err):
			return nil, -1, err
		case at < len(guard):
			return nil, -1, s.moved(ctx, layout, k)
		case !errors.Is(err, gozk.ErrNoNode) || !inFolder(all[at]) || made:
			return nil, at - len(guard), err
		}
		if err := s.client.makeMissing(ctx, s.folders()); err != nil { // an operator deleted one
			return nil, -1, err
		}
	}
}

// inFolder reports whether an operation that finds no node lacks one that others are made below.
func inFolder(op any) bool {
	switch op := op.(type) {
	case *gozk.CreateRequest:
		return true
	case *gozk.SetDataRequest:
		return op.Version == anyVersion
	}
	return false
}

// moved returns why a fence has failed.
func (s *store) moved(ctx context.Context, layout claims.Entry, k kind) error {
	err := s.client.sync(ctx, kindLook)
	if err == nil {
		err = s.stands(ctx, layout)
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %s: %s is there without %s, which is made with it: somebody has written it by hand, or restored a part of the tree; "+
		"restore the whole of it, or create that node as well, and run `flakeward cluster raise`: %w", s.client.name, k, s.layout(), s.token(layout.Value), claims.ErrRefused)
}

// stands returns *claims.MovedError unless the cluster record is that one.
func (s *store) stands(ctx context.Context, layout claims.Entry) error {
	found, err := s.client.get(ctx, kindLook, s.layout())
	if err == nil && (found.Version != layout.Version || !bytes.Equal(found.Value, layout.Value)) {
		err = &claims.MovedError{Found: found}
	}
	return err
}
