//go:build e2e

package kube

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

var programs = flag.String("programs", "", "the `directory` with Kubernetes' programs, etcd, the CNI plugins and images.tar: see make kube")

// stageVariable tells this program, which runs itself, what it is.
const stageVariable = "FLAKEWARD_KUBE"

// The drills run in three processes of this program: one on the host; process 1 of the namespaces,
// whose end ends all that is in them; and the tests.
const (
	stageInit = "init"
	stageNode = "node"
)

// within bounds a whole run. A node that hangs is killed then.
const within = 15 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	switch os.Getenv(stageVariable) {
	case stageInit:
		err = beProcessOne()
	case stageNode:
		os.Exit(m.Run())
	default:
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("it took longer than %v", within))
		err = runOnHost(ctx)
		cancel()
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kube:", err)
		os.Exit(1)
	}
}
