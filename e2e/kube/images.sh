#!/bin/sh
# images.sh DIRECTORY: puts the images of the drills into DIRECTORY/images.tar, for a containerd of its own. The pause image
# is the sidecar's, with another command.
set -eu
printf 'FROM flakeward-sidecar:local\nCMD ["pause"]\n' | docker build --quiet --tag flakeward-pause:local - >/dev/null
exec docker save --output "$1/images.tar" flakeward:kube flakeward:kube-next flakeward-sidecar:local flakeward-pause:local
