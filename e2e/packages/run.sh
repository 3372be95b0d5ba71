#!/usr/bin/env bash
# run.sh: the packages in a Debian with a systemd of its own, in a container: twice the same bytes,
# lintian, install, systemd's part of the daemon, reload, upgrade, remove, purge. Two minutes, after
# a first time that fetches Debian.
set -euo pipefail
cd "$(dirname "$0")/../.."
export GO=${GO:-go}
dist=$PWD/.bin/dist arch=$($GO env GOARCH)
scripts/need packaging
sh e2e/images/build.sh systemd
rm -rf "$dist" "$dist-again"
IMAGES=1 scripts/package "$dist" "$arch"
touch LICENSE deploy/packages/* deploy/systemd/* # as in another checkout
TZ=Asia/Tokyo IMAGES=1 scripts/package "$dist-again" "$arch"
VERSION=0.1.1 LDFLAGS='-X github.com/flakeward/flakeward/cli.version=0.1.1' scripts/package "$dist/next" "$arch" >/dev/null
$GO test -count=1 -v -tags e2e -timeout 15m ./e2e/packages -args -dist "$dist"
