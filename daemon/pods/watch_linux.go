package pods

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// events are those of directories that come and go.
const events = unix.IN_CREATE | unix.IN_MOVED_TO | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR

// watcher tells of the directories in one that come and go. Nil tells of none.
type watcher struct {
	file  *os.File // inotify
	end   context.CancelFunc
	ended sync.WaitGroup
	tells chan batch

	mu  sync.Mutex
	dir int // the directory's watch; -1: none
}

// batch is what events told: for each name whether the last of them was that it is there.
type batch struct {
	names map[string]bool
	lost  bool // some were lost, or the directory itself has gone
}

func newWatcher(ctx context.Context) (*watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	w := &watcher{file: os.NewFile(uintptr(fd), "inotify"), tells: make(chan batch), dir: -1}
	ctx, w.end = context.WithCancel(ctx)
	w.ended.Go(func() { w.read(ctx) })
	return w, nil
}

func (w *watcher) close() {
	if w == nil {
		return
	}
	w.end()
	_ = w.file.Close() // ends the read
	w.ended.Wait()
}

// told gets what events told.
func (w *watcher) told() <-chan batch {
	if w == nil {
		return nil
	}
	return w.tells
}

// watch watches what the path leads to now. It is called before each scan, as another directory may
// have taken the place of the one before.
func (w *watcher) watch(path string) {
	if w == nil {
		return
	}
	raw, err := w.file.SyscallConn()
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = raw.Control(func(fd uintptr) {
		dir, err := unix.InotifyAddWatch(int(fd), path, events)
		if err != nil {
			dir = -1 // the scan says what is wrong
		}
		if w.dir >= 0 && w.dir != dir {
			_, _ = unix.InotifyRmWatch(int(fd), uint32(w.dir))
		}
		w.dir = dir
	})
}

// read reads events until ctx ends. Who scans and takes long makes the kernel lose some, and then
// scans again.
func (w *watcher) read(ctx context.Context) {
	data := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(data)
		if err != nil {
			return
		}
		w.mu.Lock()
		f := parse(data[:n], w.dir)
		w.mu.Unlock()
		if len(f.names) == 0 && !f.lost {
			continue
		}
		select {
		case w.tells <- f:
		case <-ctx.Done():
			return
		}
	}
}

// parse reads the events of the directory's watch.
func parse(data []byte, dir int) batch {
	f := batch{names: make(map[string]bool)}
	for len(data) >= unix.SizeofInotifyEvent {
		of, mask := int32(binary.NativeEndian.Uint32(data)), binary.NativeEndian.Uint32(data[4:])
		end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(data[12:]))
		if end > len(data) {
			break
		}
		name := strings.TrimRight(string(data[unix.SizeofInotifyEvent:end]), "\x00")
		data = data[end:]
		switch {
		case mask&unix.IN_Q_OVERFLOW != 0:
			f.lost = true
		case int(of) != dir:
		case name == "":
			f.lost = true
		default:
			f.names[name] = mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0
		}
	}
	return f
}
