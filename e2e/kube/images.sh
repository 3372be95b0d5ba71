#!/bin/sh
# images.sh DIRECTORY: puts the images of the drills into DIRECTORY/images.tar, for a containerd of its own. The pause image
# is the sidecar's, with another command. CoreDNS comes from the directory, too.
set -eu
printf 'FROM flakeward-sidecar:local\nCMD ["pause"]\n' | docker build --quiet --tag flakeward-pause:local - >/dev/null
printf 'FROM scratch\nCOPY coredns /coredns\nENTRYPOINT ["/coredns"]\n' | docker build --quiet --tag flakeward-coredns:local --file - "$1/dns" >/dev/null
exec docker save --output "$1/images.tar" flakeward:kube flakeward:kube-next flakeward-csi:kube flakeward-csi:kube-next flakeward-sidecar:local flakeward-pause:local flakeward-etcd:local flakeward-coredns:local
