//go:build e2e

package kube

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// The node's network ends at the node: nothing leads out of the namespace.
const (
	nodeName    = "node1"
	nodeAddress = "10.77.0.1"
)

// settled are the values that the kubelet gives to what the whole machine has. It finds them in
// files of this mount namespace, and leaves the machine's alone.
var settled = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

// beProcessOne makes the namespaces a machine of their own, runs the tests there, and sees off
// whoever loses its parent. When it returns, the kernel ends everybody else.
func beProcessOne() error {
	runtime.LockOSThread() // the cgroup namespace is this thread's, and its children's
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	if err := syscall.Unshare(syscall.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("a cgroup namespace cannot be had: %w", err)
	}
	if err := arrange(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	node := exec.Command(self, os.Args[1:]...)
	node.Env = append(os.Environ(), stageVariable+"="+stageNode)
	node.Stdout, node.Stderr = os.Stdout, os.Stderr
	if err := node.Start(); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return err
		case pid != node.Process.Pid:
		case status.Signaled():
			return fmt.Errorf("the drills were ended by a signal: %v", status.Signal())
		case status.ExitStatus() != 0:
			return fmt.Errorf("the drills ended with status %d", status.ExitStatus())
		default:
			return nil
		}
	}
}

// arrange mounts what a machine of its own has, and its network.
func arrange() error {
	if err := errors.Join(
		mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""),
		mount("proc", "/proc", "proc", 0, ""),
	); err != nil {
		return err
	}
	controllers, err := hierarchies() // by the host's mounts, which the next ones hide
	if err != nil {
		return err
	}
	steps := []error{mount("sysfs", "/sys", "sysfs", 0, ""), mount("tmpfs", cgroups, "tmpfs", 0, "mode=755")}
	for _, path := range controllers {
		options := filepath.Base(path)
		if options == "systemd" {
			options = "none,name=systemd"
		}
		steps = append(steps, os.Mkdir(path, 0o755), mount("cgroup", path, "cgroup", 0, options))
	}
	// What a node writes lands in memory of these namespaces.
	for _, path := range []string{"/run", "/var/lib", "/var/log"} {
		steps = append(steps, mount("tmpfs", path, "tmpfs", 0, "mode=755"))
	}
	for name, value := range settled {
		file := filepath.Join("/run", "settled", name)
		steps = append(steps,
			os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(value+"\n"), 0o644),
			mount(file, filepath.Join("/proc/sys", name), "", syscall.MS_BIND, ""))
	}
	// The kubelet and the CSI driver mount where the others have to see it.
	steps = append(steps, mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""), syscall.Sethostname([]byte(nodeName)))
	for _, words := range []string{
		"link set lo up",
		"link add node0 type bridge",
		"address add " + nodeAddress + "/24 dev node0",
		"link set node0 up",
		"route add default via 10.77.0.254 dev node0",
	} {
		out, err := exec.Command("ip", strings.Fields(words)...).CombinedOutput()
		if err != nil {
			steps = append(steps, fmt.Errorf("ip %s: %w: %s", words, err, out))
		}
	}
	return errors.Join(steps...)
}

func mount(source, target, kind string, flags uintptr, options string) error {
	if err := syscall.Mount(source, target, kind, flags, options); err != nil {
		return fmt.Errorf("mount %s at %s: %w", kind, target, err)
	}
	return nil
}
