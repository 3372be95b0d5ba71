//go:build e2e

package kube

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// cgroups is where the host's cgroups are.
const cgroups = "/sys/fs/cgroup"

// runOnHost runs the drills in namespaces and a cgroup of their own: it starts process 1 and awaits
// its end, or kills it.
func runOnHost(ctx context.Context) (failed error) {
	if *programs == "" {
		return errors.New("there are no programs: run e2e/kube/run.sh")
	}
	if os.Geteuid() != 0 {
		return errors.New("a node wants root, as its containers and cgroups do")
	}
	own := fmt.Sprintf("flakeward-kube-%d", os.Getpid())
	groups, err := makeCgroups(own)
	defer func() { failed = errors.Join(failed, removeCgroups(groups)) }()
	if err != nil {
		return err
	}

	self, err := os.Executable()
	if err != nil {
		return err
	}
	init := exec.Command(self, os.Args[1:]...)
	init.Env = append(os.Environ(), stageVariable+"="+stageInit)
	init.Stdout, init.Stderr = os.Stdout, os.Stderr
	init.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Setpgid:    true, // the terminal's signals come to this process, which tells the other
		Pdeathsig:  syscall.SIGKILL,
	}
	// The kernel sends the signal when the thread ends that started process 1.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Process 1 waits for the end of its standard input: it has to be in its cgroup first.
	goOn, err := init.StdinPipe()
	if err != nil {
		return err
	}
	if err := init.Start(); err != nil {
		return fmt.Errorf("namespaces cannot be had: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- init.Wait() }()
	for _, group := range groups {
		if err == nil {
			err = os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Append(nil, init.Process.Pid), 0)
		}
	}
	if err == nil {
		err = goOn.Close()
	}
	if err != nil {
		_ = init.Process.Kill()
		return errors.Join(err, <-ended)
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	_ = init.Process.Kill() // and with it everybody in the namespaces
	return errors.Join(context.Cause(ctx), <-ended)
}

// makeCgroups makes a cgroup of the name in each hierarchy. What it returns with an error has to be
// removed all the same.
func makeCgroups(name string) (made []string, err error) {
	roots, err := hierarchies()
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, errors.New("no hierarchy of cgroup v1 is mounted: the drills of a node have been tried with those alone")
	}
	for _, root := range roots {
		group := filepath.Join(root, name)
		if err := os.Mkdir(group, 0o755); err != nil {
			return made, err
		}
		made = append(made, group)
		// A cpuset begins empty, and lets nobody in until it has processors and memory.
		for _, of := range []string{"cpuset.cpus", "cpuset.mems"} {
			all, err := os.ReadFile(filepath.Join(root, of))
			if err != nil {
				continue // another controller
			}
			if err := os.WriteFile(filepath.Join(group, of), all, 0); err != nil {
				return made, err
			}
		}
	}
	return made, nil
}

// hierarchies returns where the controllers of cgroup v1 are mounted.
func hierarchies() ([]string, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(string(mounts)) {
		if word := strings.Fields(line); len(word) > 2 && word[2] == "cgroup" {
			all = append(all, word[1])
		}
	}
	return all, nil
}

// removeCgroups removes the cgroups with all that is below them, the deepest first. The kernel
// needs a moment to see the last process off.
func removeCgroups(groups []string) error {
	var left error
	for _, group := range groups {
		until := time.Now().Add(30 * time.Second)
		for left = removeCgroup(group); left != nil && time.Now().Before(until); left = removeCgroup(group) {
			pause()
		}
		if left != nil {
			return left
		}
	}
	return nil
}

func removeCgroup(group string) error {
	var below []string
	err := filepath.WalkDir(group, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			below = append(below, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for i := len(below) - 1; i >= 0 && err == nil; i-- {
		err = syscall.Rmdir(below[i])
	}
	if err != nil {
		return fmt.Errorf("the cgroup %s stays: %w", group, err)
	}
	return nil
}

// pause lets a moment pass between two looks.
func pause() { <-time.After(100 * time.Millisecond) }
