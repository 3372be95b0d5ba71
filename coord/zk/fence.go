package zk

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/claims"
)

// seen is the cluster record as it was read or written last. Its version is not one of
// a kind: a layout that was made anew counts from the beginning. So each has a child,
// whose name is random and was never used before. ZooKeeper deletes no node that has
// children: as long as this one is there, the layout is the one that it was made in.
type seen struct {
	entry  claims.Entry
	tokens []string // the names of its children, in order. Each serves: two daemons may have made one at once
}

func (l seen) is(layout claims.Entry) bool {
	return l.entry.Version == layout.Version && bytes.Equal(l.entry.Value, layout.Value)
}

// fences makes the fences of Multis from the cluster record as it was seen last.
type fences struct {
	tree
	client *client

	mu   sync.Mutex
	seen seen
}

func (s *fences) remember(l seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = l
}

// read reads the cluster record and its children, both of one node.
func (s *fences) read(ctx context.Context) (seen, error) {
	for {
		var found seen
		var node, parent int64 // czxid of what was read, and of what was listed
		err := each(ctx, 2, func(ctx context.Context, i int) (err error) {
			if i == 0 {
				found.entry, node, err = s.client.read(ctx, kindLook, s.layout())
			} else {
				found.tokens, parent, err = s.listTokens(ctx)
			}
			return err
		})
		switch {
		case err != nil:
			return seen{}, err
		case node == parent:
			s.remember(found)
			return found, nil
		case ctx.Err() != nil:
			return seen{}, s.client.errChanging(ctx, kindLook)
		}
	}
}

// listTokens lists the layout's children, and tells the layout's czxid, which is 0 if
// there is none.
func (s *fences) listTokens(ctx context.Context) (tokens []string, parent int64, err error) {
	type list struct {
		names  []string
		parent int64
	}
	found, err := ask(ctx, s.client, kindTokens, s.layout(), func(conn *gozk.Conn) (list, error) {
		names, stat, err := conn.Children(s.layout())
		if err != nil {
			return list{}, err
		}
		return list{names, stat.Czxid}, nil
	})
	if errors.Is(err, gozk.ErrNoNode) {
		return nil, 0, nil
	}
	tokens = slices.DeleteFunc(found.names, func(name string) bool { return !claims.ValidToken(name) })
	slices.Sort(tokens)
	return tokens, found.parent, err
}

// fence is the beginning of each Multi: that happens only while the cluster record is
// the one that it was made with.
type fence struct {
	layout  claims.Entry
	version int32
	token   string
	tokens  []string // all that there are
}

// The places of a fence's operations.
const (
	atLayout = iota
	atToken
	fenced // how many there are
)

func (s *fences) make(ctx context.Context, layout claims.Entry) (fence, error) {
	version, err := checked(layout.Version)
	if err != nil {
		return fence{}, err
	}
	s.mu.Lock()
	last := s.seen
	s.mu.Unlock()
	if !last.is(layout) || len(last.tokens) == 0 {
		if last, err = s.complete(ctx, layout, version); err != nil {
			return fence{}, err
		}
	}
	return fence{layout: layout, version: version, token: last.tokens[0], tokens: last.tokens}, nil
}

// guard returns the operations of a fence.
func (s *fences) guard(f fence) []any {
	return []any{
		atLayout: &gozk.CheckVersionRequest{Path: s.layout(), Version: f.version},
		atToken:  &gozk.CheckVersionRequest{Path: s.token(f.token), Version: anyVersion}, // it is there
	}
}

// multi sends operations behind a fence. If one of them fails, which is not for a fence, it returns
// which, and a verdict; otherwise that is -1.
func (s *store) multi(ctx context.Context, layout claims.Entry, k kind, path string, ops ...any) (results []gozk.MultiResponse, failed int, err error) {
	for made := false; ; {
		f, err := s.fences.make(ctx, layout)
		if err != nil {
			return nil, -1, err
		}
		all := append(s.fences.guard(f), ops...)
		results, err := tell(ctx, s.client, k, path, func(conn *gozk.Conn) ([]gozk.MultiResponse, error) {
			return conn.Multi(all...)
		})
		// The one that failed: the others were not tried, or undone.
		switch at := slices.IndexFunc(results, func(r gozk.MultiResponse) bool { return r.Error != nil }); {
		case err == nil && len(results) == len(all):
			return results[fenced:], -1, nil
		case err == nil:
			return nil, -1, fmt.Errorf("%s: %s: %d results of %d operations", s.client.name, k, len(results), len(all))
		case at < 0 || !verdict(err):
			return nil, -1, err
		case at < fenced: // the layout is another one
			if err := s.client.sync(ctx, kindLook); err != nil {
				return nil, -1, err
			}
			if err := s.fences.stands(ctx, f); err != nil {
				return nil, -1, err
			}
		case errors.Is(err, gozk.ErrNoNode) && inFolder(all[at]) && !made: // an operator deleted a folder
			if err := s.client.makeMissing(ctx, s.folders()); err != nil {
				return nil, -1, err
			}
			made = true
		default:
			return nil, at - fenced, err
		}
		if ctx.Err() != nil {
			return nil, -1, s.client.errChanging(ctx, k)
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

// complete reads the cluster record, and makes its child if it has none: an operator has
// put it there by hand, or from a backup.
func (s *fences) complete(ctx context.Context, layout claims.Entry, version int32) (seen, error) {
	if err := s.client.sync(ctx, kindLook); err != nil {
		return seen{}, err
	}
	for {
		found, err := s.read(ctx)
		switch {
		case err != nil:
			return seen{}, err
		case !found.is(layout):
			return seen{}, &claims.MovedError{Found: found.entry}
		case len(found.tokens) > 0:
			return found, nil
		}
		_, err = tell(ctx, s.client, kindToken, s.layout(), func(conn *gozk.Conn) ([]gozk.MultiResponse, error) {
			return conn.Multi(&gozk.CheckVersionRequest{Path: s.layout(), Version: version}, s.makeToken(rand.Text()))
		})
		if err != nil && !verdict(err) {
			return seen{}, err
		}
		if ctx.Err() != nil {
			return seen{}, s.client.errChanging(ctx, kindToken)
		}
	}
}

// makeToken makes a child of the layout, of a name that is drawn for it.
func (s *fences) makeToken(name string) any {
	return &gozk.CreateRequest{Path: s.token(name), Acl: s.client.access(), Flags: gozk.FlagPersistent}
}

// stands reads the cluster record and returns *claims.MovedError if it is another one. A
// cluster record that was made anew with the same bytes is another one too, for a fence
// with a token: what failed at that is made again with the new one.
func (s *fences) stands(ctx context.Context, f fence) error {
	found, err := s.read(ctx)
	if err == nil && (!found.is(f.layout) || f.token != "" && !slices.Contains(found.tokens, f.token)) {
		err = &claims.MovedError{Found: found.entry}
	}
	return err
}
