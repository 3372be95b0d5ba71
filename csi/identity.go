//go:build linux

package csi

import (
	"context"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/hashicorp/go-hclog"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// versions of CSI that the driver speaks, in the form that kubelet reads.
var versions = []string{"1.0.0"}

// identity says who the driver is. It has a node service and nothing else.
type identity struct {
	csi.UnimplementedIdentityServer
	version string
}

// GetPluginInfo implements csi.IdentityServer, as do the others.
func (i identity) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: Name, VendorVersion: i.version}, nil
}

func (identity) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{}, nil
}

// Probe says that the driver serves. Whether the daemon does is said for each volume: a driver
// that restarts does not bring the daemon back.
func (identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

// registrar tells kubelet of the driver.
type registrar struct {
	registration.UnimplementedRegistrationServer
	log     hclog.Logger
	refused func(error)
}

// GetInfo names no endpoint, so that kubelet calls the driver on the socket where it asks this. A
// path of another socket would have to be given as kubelet sees it.
func (registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{Type: registration.CSIPlugin, Name: Name, SupportedVersions: versions}, nil
}

// NotifyRegistrationStatus ends a driver that kubelet refuses: kubelet does not always ask again
// before it sees a new socket.
func (r registrar) NotifyRegistrationStatus(_ context.Context, s *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if s.GetPluginRegistered() {
		r.log.Info("kubelet has registered the CSI driver")
	} else {
		r.refused(fmt.Errorf("kubelet refuses the CSI driver: %s: start it again when that is mended", s.GetError()))
	}
	return &registration.RegistrationStatusResponse{}, nil
}
