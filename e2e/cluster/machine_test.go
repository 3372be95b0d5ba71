package cluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/flakeward/flakeward/internal/faultproxy"
	"github.com/flakeward/flakeward/internal/isolated"
	"github.com/flakeward/flakeward/internal/process"
)

// normal is the program as users have it, or the one that the test was told of.
var normal = sync.OnceValues(func() (string, error) {
	if *program != "" {
		return filepath.Abs(*program)
	}
	var err error
	if builtNormal, err = os.MkdirTemp("", "fwc-normal"); err != nil {
		return "", err
	}
	return process.BuildNormal(context.Background(), builtNormal)
})

// machine is a host of its own for the program as users have it, with an identity by that name;
// "" is a host that knows none.
func (w *testCluster) machine(identity string) machine {
	w.Helper()
	if os.Getuid() != 0 {
		w.Fatal("this drill makes namespaces and mounts disks: run it as root")
	}
	path, err := normal()
	if err != nil {
		w.Fatal(err)
	}
	return machine{program: path, env: []string{"FLAKEWARD_MACHINE_IDENTITY=" + w.identity(identity)}}
}

// identity is a file with an identity by that name.
func (w *testCluster) identity(name string) string {
	if name == "" {
		return os.DevNull
	}
	return w.file("identity-"+name, "machine "+name+"\n")
}

// file is a file of that name in the test cluster's directory, with that text.
func (w *testCluster) file(name, text string) string {
	w.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
	return path
}

// run runs a command to its end.
func (w *testCluster) run(name string, args ...string) {
	w.Helper()
	if out, err := exec.CommandContext(w.Context(), name, args...).CombinedOutput(); err != nil {
		w.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// namespaced has the machine run a shell's script before the daemon, in namespaces of its own,
// which are named as unshare(1) does. The script has the variables that are given, as in
// NAME=value.
func (m machine) namespaced(w *testCluster, unshare []string, script string, env ...string) machine {
	m.within = append(append(append([]string{}, m.within...), "unshare", "--mount"), unshare...)
	m.within = append(m.within, "--", "/bin/sh", "-ec", script+"\n: >\"$BEGUN\"; exec \"$@\"", "sh")
	m.begun = filepath.Join(w.dir, fmt.Sprintf("begun-%d", time.Now().UnixNano()))
	m.env = append(append(append([]string{}, m.env...), env...), "BEGUN="+m.begun)
	return m
}

// bootID is part of a script: another boot ID, from the file $BOOT.
const bootID = `mount --bind "$BOOT" /proc/sys/kernel/random/boot_id`

// otherBoot is a file with a boot ID for bootID, another one each time.
func (w *testCluster) otherBoot() string {
	w.Helper()
	text, err := os.ReadFile("/proc/sys/kernel/random/uuid")
	if err != nil {
		w.Fatal(err)
	}
	return "BOOT=" + w.file("boot-"+string(text[:8]), string(text))
}

// apart puts a machine into a network of its own, where nothing but the coordinator can be reached:
// at the address that it has everywhere, through the proxy.
func (w *testCluster) apart(m machine) (machine, *faultproxy.Proxy) {
	w.Helper()
	address := w.addresses()[0]
	network, err := isolated.NewNetwork(w.T)
	if err != nil {
		w.Fatal(err)
	}
	var listener net.Listener
	if err := network.Do(func() (err error) {
		if err = exec.Command("ip", "link", "set", "lo", "up").Run(); err == nil {
			listener, err = net.Listen("tcp", address)
		}
		return err
	}); err != nil {
		w.Fatalf("a network of its own: %v", err)
	}
	m.within = append(append([]string{}, m.within...), "nsenter", "--net="+network.Path())
	return m, faultproxy.Serve(w.T, listener, address)
}
