#!/bin/sh
# prepare.sh DIRECTORY: compiles etcd from its Go module into the directory, as
# etcd's own images have it: two names, here of one program.
set -eu
mkdir -p "$1/bin"
cd "$(dirname "$0")"
GOFLAGS= GOWORK=off GOOS=linux CGO_ENABLED=0 "${GO:-go}" build -trimpath -ldflags '-s -w' -o "$1/bin/etcd" .
ln -s etcd "$1/bin/etcdctl"
