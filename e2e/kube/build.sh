#!/bin/sh
# build.sh DIRECTORY: compiles Kubernetes, the plugins of its network, CoreDNS, Helm and etcd from their Go modules into the
# directory, and puts the Prometheus Operator's definitions of its kinds beside them: 10 minutes on two cores and 800 MB the first time, then nothing as long as nothing here has changed.
set -eu
umask 022
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"
GO=${GO:-go}

inputs=$(cat build.sh programs/go.mod programs/go.sum dns/* helm/go.mod helm/go.sum operator/go.mod operator/go.sum ../images/etcd/go.* ../images/etcd/main.go | sha256sum)
[ "$inputs" != "$(cat "$out/inputs" 2>/dev/null)" ] || exit 0
sh ../images/etcd/prepare.sh "$out/of-etcd"
mv "$out/of-etcd/bin/etcd" "$out/etcd"
rm -r "$out/of-etcd"
cd programs
export GOWORK=off GOFLAGS= GOOS=linux
version=$("$GO" list -m -f '{{.Version}}' k8s.io/kubernetes)
# kubectl parses the version, and has none unless it is told.
flags="-s -w -X k8s.io/component-base/version.gitVersion=$version"
kubernetes=
for name in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl; do
	kubernetes="$kubernetes k8s.io/kubernetes/cmd/$name"
done
plugins=github.com/containernetworking/plugins/plugins
mkdir -p "$out/cni"
# shellcheck disable=SC2086 # several words
"$GO" build -trimpath -ldflags "$flags" -o "$out/" $kubernetes
CGO_ENABLED=0 "$GO" build -trimpath -ldflags '-s -w' -o "$out/cni/" $plugins/main/bridge $plugins/main/loopback $plugins/ipam/host-local
# In a pod, as in any cluster.
mkdir -p "$out/dns"
cd ../dns
CGO_ENABLED=0 "$GO" build -trimpath -ldflags '-s -w' -o "$out/dns/coredns" .
cd ../helm
# Without a cluster helm takes charts for one of the version that its client is of: unless it is told, 1.20.
minor=$("$GO" list -m -f '{{.Version}}' k8s.io/client-go | cut -d . -f 2)
of=helm.sh/helm/v3/pkg/chartutil
CGO_ENABLED=0 "$GO" build -trimpath -ldflags "-s -w -X $of.k8sVersionMajor=1 -X $of.k8sVersionMinor=$minor" -o "$out/" helm.sh/helm/v3/cmd/helm
cd ../operator
of=github.com/prometheus-operator/prometheus-operator
"$GO" mod download "$of"
kinds=$("$GO" list -m -f '{{.Dir}}' "$of")/example/prometheus-operator-crd
mkdir -p "$out/kinds"
for kind in podmonitors prometheusrules; do
	install -m 644 "$kinds/monitoring.coreos.com_$kind.yaml" "$out/kinds/"
done
echo "$inputs" >"$out/inputs"
