package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
)

// Create implements claims.Store. The claim is locked before it has its name, so nobody sees it
// without.
func (s *store) Create(ctx context.Context, layout claims.Entry, c claims.Node) (claims.Created, error) {
	return fenced(ctx, s, "create a claim", layout, func(d *directory) (claims.Created, error) {
		living, err := s.living(d)
		if err != nil {
			return claims.Created{}, err
		}
		made := claims.Created{Node: c}
		for _, n := range living {
			made.Created = max(made.Created, n.Created)
			if n.Worker == made.Worker {
				made.Before = append(made.Before, n)
			}
		}
		made.Created++
		made.Name = fmt.Sprintf("%s-%010d", c.Name, made.Created)
		if made.Record, err = d.entry(claims.RecordOf(made.Worker)); err != nil {
			return claims.Created{}, err
		}
		if made.History, err = d.entry(claims.HistoryOf(made.Worker)); err != nil {
			return claims.Created{}, err
		}
		f, err := d.claim(made.Name, c.Value)
		if err != nil {
			return claims.Created{}, err
		}
		s.keep(made.Name, f)
		d.reserve(s.spare())
		return made, nil
	})
}

// Number implements claims.Store.
func (s *store) Number(ctx context.Context, layout claims.Entry) (uint64, error) {
	return fenced(ctx, s, "draw a sequence number", layout, func(d *directory) (uint64, error) {
		last, err := d.entry("seq")
		if err != nil {
			return 0, err
		}
		number, _ := strconv.ParseUint(string(last.Value), 10, 64) // of a damaged one it is 0
		d.hint("seq", last, strconv.AppendUint(nil, number+1, 10))
		return number, nil
	})
}

// hint stores what may be lost: in a power cut, or on a disk that is full.
func (d *directory) hint(name string, was claims.Entry, value []byte) {
	if f, err := d.create(newName, encode(min(count(was.Version)+1, maxCount), value)); err == nil {
		_ = f.Close()
		_ = d.root.Rename(newName, name)
	}
}

// claim makes a claim and locks it.
func (d *directory) claim(name string, value []byte) (*os.File, error) {
	f, err := d.create(newName, encode(1, value))
	if err != nil {
		return nil, err
	}
	if err = flock(f, unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = d.root.Rename(newName, claims.ClaimOf(name))
	}
	if err != nil {
		_ = f.Close()
		_ = d.root.Remove(newName)
		return nil, d.failed(claims.ClaimOf(name), err)
	}
	return f, nil
}

// keep holds the lock of a claim.
func (s *store) keep(name string, f *os.File) {
	if s.claims == nil {
		s.claims = map[string]*os.File{}
	}
	s.claims[name] = f
}

// drop ends the lock of a claim, if it is ours. A child between fork and exec has the description
// as well, so to close it is not enough.
func (s *store) drop(name string) {
	if f := s.claims[name]; f != nil {
		_ = flock(f, unix.LOCK_UN)
		_ = f.Close()
		delete(s.claims, name)
	}
}

// living lists the claims whose makers live. It removes what dead ones have left.
func (s *store) living(d *directory) ([]claims.Node, error) {
	names, err := d.names(claims.ClaimsKey)
	if err != nil {
		return nil, err
	}
	var living []claims.Node
	for _, name := range names {
		n, ok := claims.ParseName(name)
		if !ok {
			continue // nobody's claim
		}
		alive, err := d.alive(name)
		if err != nil {
			return nil, err
		}
		if alive {
			living = append(living, n)
		} else if err := d.remove(claims.ClaimOf(name)); err != nil {
			return nil, err
		}
	}
	return living, s.sweep(d, living)
}

// sweep removes the spares of processes without a claim. One that lives makes another with its next
// claim.
func (s *store) sweep(d *directory, living []claims.Node) error {
	names, err := d.names(".")
	for _, name := range names {
		incarnation, ok := strings.CutPrefix(name, spareOf(""))
		if ok && incarnation != s.config.Identity.Incarnation && !slices.ContainsFunc(living, func(n claims.Node) bool { return n.Incarnation == incarnation }) {
			_ = d.remove(name) // a later one tries again
		}
	}
	return err
}

// alive reports whether the maker of a claim lives: then its lock cannot be had. It is tried
// shared, so that nobody who tries at the same time is taken for the maker. The file is opened for
// writing: on overlayfs another kind of handle may be another file's.
func (d *directory) alive(name string) (bool, error) {
	f, err := d.root.OpenFile(claims.ClaimOf(name), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, d.failed(claims.ClaimOf(name), err)
	}
	defer f.Close() // nothing was written
	err = flock(f, unix.LOCK_SH|unix.LOCK_NB)
	switch {
	case err == nil:
		_ = flock(f, unix.LOCK_UN)
		return false, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, nil
	default:
		return false, d.failed(claims.ClaimOf(name), fmt.Errorf("flock: %w", err))
	}
}

// names lists a directory, in order.
func (d *directory) names(below string) ([]string, error) {
	f, err := d.root.Open(below)
	if err != nil {
		return nil, d.failed(below, err)
	}
	defer f.Close() // it was only read
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, d.failed(below, err)
	}
	slices.Sort(names)
	return names, nil
}

// holds reports whether a claim is this session's, and still there.
func (s *store) holds(d *directory, name string) (bool, error) {
	f := s.claims[name]
	if f == nil {
		return false, nil
	}
	ours, err := f.Stat()
	if err != nil {
		return false, d.failed(claims.ClaimOf(name), err)
	}
	found, err := d.root.Lstat(claims.ClaimOf(name))
	switch {
	case err == nil && os.SameFile(ours, found):
		return true, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return false, d.failed(claims.ClaimOf(name), err)
	}
	s.drop(name) // somebody deleted it
	return false, nil
}

// Delete implements claims.Store.
func (s *store) Delete(ctx context.Context, name string) error {
	_, err := ask(ctx, s, "delete a claim", func(d *directory) (struct{}, error) {
		if _, ok := claims.ParseName(name); !ok {
			return struct{}{}, nil
		}
		return struct{}{}, s.delete(d, name)
	})
	return err
}

func (s *store) delete(d *directory, name string) error {
	if err := d.remove(claims.ClaimOf(name)); err != nil {
		return err
	}
	s.drop(name)
	return nil
}

// Close implements claims.Store. Nobody's lock is waited for: what is removed is our own.
func (s *store) Close() error {
	if !s.finish() {
		return nil
	}
	for name := range s.claims {
		if s.dir != nil {
			_ = s.dir.remove(claims.ClaimOf(name)) // who lists finds that it is dead
		}
		s.drop(name)
	}
	if s.dir != nil {
		_ = s.dir.remove(s.spare())
		s.dir.close()
	}
	return nil
}

// finish ends all requests, and reports whether it is the first to do so.
func (s *store) finish() bool {
	s.gate.Lock()
	first := !s.closed
	s.closed = true
	s.gate.Unlock()
	s.end()
	s.running.Wait()
	return first
}

// endSession ends the session over a directory that could not be synced: its claims are given up,
// and what they were granted last is settled by whoever opens their records next.
func (s *store) endSession() {
	s.config.Log.Error("the coordinator's directory could not be synced: the claims are given up and made again; look for the reason in the kernel's log", "path", s.config.Path)
	for name := range s.claims {
		s.over(name)
		s.drop(name)
	}
	s.dir.close()
	s.dir = nil
}

// over gives a claim up: nothing is written under it any more.
func (s *store) over(name string) {
	if s.ended == nil {
		s.ended = map[string]bool{}
	}
	s.ended[name] = true
}

// errOver is the error of a claim that was given up.
var errOver = fmt.Errorf("its session ended because the directory could not be synced: %w; %w", coord.ErrLost, claims.ErrRefused)
