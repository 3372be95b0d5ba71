//go:build linux

package main

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// kubelet stands in for the part of kubelet and of its pods' manifests that the tests take from a
// controller: it names a volume, and says which pod it is for. The driver itself has no controller.
type kubelet struct {
	csi.UnimplementedControllerServer
	csi.UnimplementedIdentityServer
}

func (kubelet) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: "kubelet"}, nil
}

func (kubelet) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

func (kubelet) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

func (kubelet) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	return &csi.ControllerGetCapabilitiesResponse{Capabilities: []*csi.ControllerServiceCapability{{
		Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: unknown}},
	}}}, nil
}

func (kubelet) CreateVolume(_ context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{VolumeId: "csi-" + r.GetName(), VolumeContext: map[string]string{
		"csi.storage.k8s.io/ephemeral":     "true",
		"csi.storage.k8s.io/pod.name":      "shop-7f9c",
		"csi.storage.k8s.io/pod.namespace": "orders",
		"csi.storage.k8s.io/pod.uid":       "1-2",
	}}}, nil
}

func (kubelet) DeleteVolume(context.Context, *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	return &csi.DeleteVolumeResponse{}, nil
}

// unknown is a capability that says nothing. This version of the tests takes a list of capabilities
// that is empty for one that is missing; later ones do not.
const unknown = 0

// complete adds to replies of the driver what the tests need before they begin: that there is a
// controller, which names their volumes, and a list of capabilities that is not empty.
func complete(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(ctx, method, request, reply, conn, options...)
	switch reply := reply.(type) {
	case *csi.GetPluginCapabilitiesResponse:
		reply.Capabilities = append(reply.Capabilities, &csi.PluginCapability{Type: &csi.PluginCapability_Service_{
			Service: &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE},
		}})
	case *csi.NodeGetCapabilitiesResponse:
		reply.Capabilities = append(reply.Capabilities, &csi.NodeServiceCapability{Type: &csi.NodeServiceCapability_Rpc{
			Rpc: &csi.NodeServiceCapability_RPC{Type: unknown},
		}})
	}
	return err
}

// serve has the stand-in for kubelet listen until the test ends.
func serve(t *testing.T, path string) {
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	csi.RegisterControllerServer(server, kubelet{})
	csi.RegisterIdentityServer(server, kubelet{})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// dial connects when the first call is made, and each call waits for it.
func dial(t *testing.T, path string) *grpc.ClientConn {
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(complete), grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// controllers is in the names of tests of a controller, which the driver is not.
const controllers = "Controller Server]"

var (
	// needed are the tests that publish a volume.
	needed = []string{"Node Service NodeUnpublishVolume should remove target path", "Node Service should work", "Node Service should be idempotent"}
	// absent are in the names of tests of what the driver does not have, and says so.
	absent = []string{"NodeStageVolume", "NodeUnstageVolume", "NodeGetVolumeStats", "NodeExpandVolume", "single node multi writer", "GroupController"}
)

// TestSanity runs all tests of the CSI project that are for a node service, on the driver's own
// sockets and with real mounts. None is left out but those of what the driver says it has not.
func TestSanity(t *testing.T) {
	h := newHost(t)
	h.startDaemon()
	controller := filepath.Join(h.root, "controller.sock")
	serve(t, controller)
	h.run()

	config := sanity.NewTestConfig()
	config.TargetPath, config.StagingPath = filepath.Join(h.root, "pods", "pod"), filepath.Join(h.root, "staging")
	tests := sanity.GinkgoTest(&config)
	// The connections are ours: the tests' own wait a minute for one that is ready at once to
	// change.
	tests.Conn, tests.ControllerConn = dial(t, h.registration), dial(t, controller)
	defer tests.Finalize()
	ran := map[types.SpecState][]string{}
	ginkgo.ReportAfterSuite("what ran", func(r ginkgo.Report) {
		for _, spec := range r.SpecReports {
			if !strings.Contains(spec.FullText(), controllers) {
				ran[spec.State] = append(ran[spec.State], spec.FullText())
			}
		}
	})
	gomega.RegisterFailHandler(ginkgo.Fail)
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.SkipStrings = append(suite.SkipStrings, controllers)
	ginkgo.RunSpecs(t, "CSI", suite, reporter)
	t.Logf("passed: %d, not for this driver: %d", len(ran[types.SpecStatePassed]), len(ran[types.SpecStateSkipped]))
	for _, name := range needed {
		if !slices.Contains(ran[types.SpecStatePassed], name) {
			t.Errorf("%q did not run and pass: %v", name, ran)
		}
	}
	for _, name := range ran[types.SpecStateSkipped] {
		if !slices.ContainsFunc(absent, func(part string) bool { return strings.Contains(name, part) }) {
			t.Errorf("%q was left out", name)
		}
	}
}
