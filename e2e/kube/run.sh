#!/usr/bin/env bash
# run.sh: deploy/kubernetes and the chart on a Kubernetes of one node, in namespaces of its own, under load: updates by surge,
# pods killed, the node drained. Wants root, docker with its containerd and runc, iproute2, iptables and nftables. The first
# build takes minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."
export GO=${GO:-go}
programs=$PWD/.bin/kube
for image in sidecar etcd; do sh e2e/images/build.sh $image; done
sh e2e/kube/build.sh "$programs"
scripts/load-image flakeward:kube
LDFLAGS='-X github.com/flakeward/flakeward/cli.version=0.1.1-next' scripts/load-image flakeward:kube-next
scripts/load-image flakeward-csi:kube csi .
LDFLAGS='-X main.version=0.1.1-next' scripts/load-image flakeward-csi:kube-next csi .
sh e2e/kube/images.sh "$programs"
CGO_ENABLED=0 $GO test -c -trimpath -tags urfave_cli_no_docs,grpcnotrace,e2e -o .bin/kube-test ./e2e/kube
# The program itself and not go test, so that a signal reaches it.
cd e2e/kube && exec ../../.bin/kube-test -test.v -test.timeout 14m -programs "$programs"
