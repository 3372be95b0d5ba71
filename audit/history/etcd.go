package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// progressEvery is how often etcd is asked whether all has been sent: it does not
// answer while it has not.
const progressEvery = 20 * time.Millisecond

// Etcd returns every version that was ever stored of each record below the prefix, up
// to the moment of the call, by revision. It also covers trees that were wiped before.
//
// It replays etcd's own log of revisions from the first one, and holds it against
// etcd's count of each key's versions and against what etcd answers now. If any revision
// was compacted, that is an error: what it had is lost. Servers that compact by themselves
// (--auto-compaction-retention) cannot be read.
func Etcd(ctx context.Context, client *clientv3.Client, prefix string) ([]Version, error) {
	root, err := rooted(prefix)
	if err != nil {
		return nil, err
	}
	versions, err := replayed(ctx, client, root+"/workers/")
	if err != nil {
		return nil, fmt.Errorf("history: etcd below %s: %w", root, err)
	}
	return versions, nil
}

func replayed(ctx context.Context, client *clientv3.Client, prefix string) ([]Version, error) {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	now, err := client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	// A watcher of its own: a client's others share a stream, and with it the answers
	// about progress.
	watcher := clientv3.NewWatcher(client)
	defer watcher.Close() // what it says is that ctx ended
	events := watcher.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(1))
	replay := etcdReplay{prefix: prefix, until: now.Header.Revision, last: map[string]*mvccpb.KeyValue{}}
	ask := time.NewTicker(progressEvery)
	defer ask.Stop()
	for done := false; !done; {
		select {
		case response, open := <-events:
			if !open {
				return nil, fmt.Errorf("it ended the watch: %w", context.Cause(ctx))
			}
			if done, err = replay.take(response); err != nil {
				return nil, err
			}
		case <-ask.C:
			if err := watcher.RequestProgress(ctx); err != nil {
				return nil, err
			}
		}
	}
	return replay.versions, replay.matches(now.Kvs)
}

// etcdReplay is what the events have told so far.
type etcdReplay struct {
	prefix   string
	until    int64                       // the last revision that is wanted
	last     map[string]*mvccpb.KeyValue // of each key that is there
	versions []Version
}

// take reports whether all that is wanted is there.
func (r *etcdReplay) take(response clientv3.WatchResponse) (bool, error) {
	if response.CompactRevision != 0 {
		return false, fmt.Errorf("all before revision %d was compacted, so the history is not complete; use servers that do not compact", response.CompactRevision)
	}
	if err := response.Err(); err != nil {
		return false, err
	}
	for _, event := range response.Events {
		if event.Kv.ModRevision > r.until {
			return true, nil
		}
		if err := r.add(event); err != nil {
			return false, fmt.Errorf("revision %d of %s: %w", event.Kv.ModRevision, event.Kv.Key, err)
		}
	}
	return response.IsProgressNotify() && response.Header.Revision >= r.until, nil
}

func (r *etcdReplay) add(event *clientv3.Event) error {
	key, kv := string(event.Kv.Key), event.Kv
	worker, err := workerOf(strings.TrimPrefix(key, r.prefix))
	if err != nil {
		return err
	}
	last := r.last[key]
	if event.Type == clientv3.EventTypeDelete {
		if last == nil {
			return errors.New("it was deleted and had not been there: events are missing")
		}
		delete(r.last, key)
		r.versions = append(r.versions, Version{Order: kv.ModRevision, Worker: worker, Gone: true})
		return nil
	}
	if want := last.GetVersion() + 1; kv.Version != want {
		return fmt.Errorf("it is version %d of the key, and %d was to come: events are missing", kv.Version, want)
	}
	v, err := version(kv.ModRevision, worker, kv.Value)
	if err != nil {
		return err
	}
	r.last[key] = kv
	r.versions = append(r.versions, v)
	return nil
}

// matches compares the end of the history with what there is.
func (r *etcdReplay) matches(now []*mvccpb.KeyValue) error {
	for _, kv := range now {
		last := r.last[string(kv.Key)]
		if last.GetModRevision() != kv.ModRevision || last.GetVersion() != kv.Version {
			return fmt.Errorf("%s has revision %d, and the history ends with %d of it: events are missing", kv.Key, kv.ModRevision, last.GetModRevision())
		}
	}
	if len(now) != len(r.last) {
		return fmt.Errorf("there are %d records, and %d by the history: events are missing", len(now), len(r.last))
	}
	return nil
}
