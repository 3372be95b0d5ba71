//go:build linux

package failures

import (
	"os"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/e2e/powercut/forgetfs"
	"github.com/flakeward/flakeward/internal/must"
)

// hanging is a directory on a disk that hangs from when hang is called.
func hanging(t *testing.T) (dir string, hang func()) {
	t.Helper()
	dir = t.TempDir()
	disk := must.Get(forgetfs.Mount(dir, forgetfs.Options{}))(t)
	t.Cleanup(func() { must.Do(t, disk.Unmount()) })
	return dir, func() {
		t.Cleanup(disk.Release) // before the server is killed, or it could not end
		disk.PowerOff()
	}
}

func etcdOnADiskThatHangs(t *testing.T) (string, func()) {
	dir, hang := hanging(t)
	return etcdOn(t, dir).URL("x"), hang
}

func zookeeperOnADiskThatHangs(t *testing.T) (string, func()) {
	dir, hang := hanging(t)
	e := zktest.Start(t, zktest.Options{Config: map[string]string{"dataLogDir": dir}})
	return urlOf("zk", e.Addresses()...), hang
}

// small is a directory on a disk of 192 MiB, as etcd wants twice 64 at its start, which fill fills.
func small(t *testing.T) (dir string, fill func()) {
	t.Helper()
	dir = t.TempDir()
	must.Do(t, syscall.Mount("small", dir, "tmpfs", 0, "size=192m"))
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir, func() {
		f := must.Get(os.Create(dir + "/junk"))(t)
		defer f.Close() // there is nothing to lose
		for err := error(nil); err == nil; {
			_, err = f.Write(make([]byte, 64<<10)) // the last one takes what is left
		}
	}
}

func etcdOnADiskThatIsFull(t *testing.T) (string, func()) {
	dir, fill := small(t)
	return etcdOn(t, dir).URL("x"), fill
}

func zookeeperOnADiskThatIsFull(t *testing.T) (string, func()) {
	dir, fill := small(t)
	e := zktest.Start(t, zktest.Options{Config: map[string]string{"dataLogDir": dir, "preAllocSize": "64"}})
	return urlOf("zk", e.Addresses()...), fill
}
