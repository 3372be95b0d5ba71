//go:build e2e

package kube

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// facts are what a node could change on its host, by kind: each is a line of text.
type facts map[string][]string

// watched are directories that a node makes or fills if nothing keeps it from that.
var watched = []string{
	"/etc/cni", "/opt/cni", "/run/containerd/io.containerd.grpc.v1.cri", "/run/flakeward", "/run/netns", "/run/kubelet",
	"/run/xtables.lock", "/var/lib/cni", "/var/lib/flakeward", "/var/lib/kubelet", "/var/log/containers", "/var/log/pods",
}

// others matches what containers of somebody else on this host add and take away meanwhile.
var others = regexp.MustCompile(`(?i)docker|moby|veth|br-[0-9a-f]{12}|/netns/default|^runtime-runc`)

// snapshot reads the host's facts.
func snapshot() (facts, error) {
	f := facts{}
	for kind, command := range map[string][]string{
		"packet filter":      {"iptables-save"},
		"packet filter (v6)": {"ip6tables-save"},
		"nftables":           {"nft", "list", "tables"},
		"interface":          {"ip", "-brief", "address"},
		"route":              {"ip", "route", "show", "table", "all"},
	} {
		out, err := exec.Command(command[0], command[1:]...).Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
		}
		f.add(kind, string(out))
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	f.add("mount", string(mounts))
	for _, root := range []string{"/proc/sys/vm", "/proc/sys/kernel", "/proc/sys/net"} {
		if err := f.walk("sysctl", root, func(path string, entry fs.DirEntry) string {
			if b, err := os.ReadFile(path); err == nil && !entry.IsDir() && !moving[filepath.Base(path)] {
				return path + " = " + strings.TrimSpace(string(b))
			}
			return ""
		}); err != nil {
			return nil, err
		}
	}
	name := func(path string, _ fs.DirEntry) string { return path }
	if err := f.walk("cgroup", cgroups, func(path string, entry fs.DirEntry) string {
		// Others come and go: the kubelet's are kubepods, and those of these drills have a name of theirs.
		if entry.IsDir() && strings.Contains(entry.Name(), "kube") {
			return path
		}
		return ""
	}); err != nil {
		return nil, err
	}
	for _, root := range watched {
		if err := f.walk("file", root, name); err != nil {
			return nil, err
		}
	}
	processes, err := processes()
	if err != nil {
		return nil, err
	}
	f["process of a node"] = processes
	return f, nil
}

// moving are the files below /proc/sys that change by themselves, or with what others do.
var moving = map[string]bool{
	"boot_id": true, "uuid": true, "entropy_avail": true, "ns_last_pid": true, "dentry-state": true, "random": true, "pty": true,
	"nr": true, "nf_conntrack_count": true, "perf_event_max_sample_rate": true, "stat_refresh": true, "drop_caches": true,
	"compact_memory": true, "sem_next_id": true, "msg_next_id": true, "shm_next_id": true, "hung_task_detect_count": true,
	"perf_cpu_time_max_percent": true,
}

// processes returns those that run a program which only a node has.
func processes() ([]string, error) {
	all, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, path := range all {
		program, err := os.Readlink(path)
		if err != nil {
			continue // it has ended, or is the kernel's
		}
		if own, err := filepath.Abs(*programs); err == nil && strings.HasPrefix(program, own+"/") {
			found = append(found, program)
		}
	}
	return found, nil
}

func (f facts) add(kind, text string) {
	for line := range strings.Lines(text) {
		line = counters.ReplaceAllString(strings.TrimSpace(line), "")
		if line != "" && !strings.HasPrefix(line, "#") && !others.MatchString(line) {
			f[kind] = append(f[kind], line)
		}
	}
}

// counters are those of packets and bytes in a rule.
var counters = regexp.MustCompile(` ?\[\d+:\d+\]`)

// walk adds a fact for each file below root, unless it is empty.
func (f facts) walk(kind, root string, fact func(string, fs.DirEntry) string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is gone, or was never there
		}
		f.add(kind, fact(path, entry))
		return nil
	})
}

func (f facts) size() int {
	n := 0
	for _, of := range f {
		n += len(of)
	}
	return n
}

// differences returns what is only in one of the two.
func (f facts) differences(after facts) []string {
	var all []string
	for _, one := range []struct {
		word    string
		in, not facts
	}{{"gone", f, after}, {"new", after, f}} {
		for kind, of := range one.in {
			for _, line := range of {
				if !slices.Contains(one.not[kind], line) {
					all = append(all, fmt.Sprintf("%s %s: %s", one.word, kind, line))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}
