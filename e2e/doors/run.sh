#!/bin/sh
# run.sh: curl, redis-cli, a browser, buf, grpcurl and ghz at once on one socket. Building the last
# three takes minutes, so the test beside it goes without them.
set -eu
cd "$(dirname "$0")/../.."
GO=${GO:-go}
scripts/need clients chromium
mkdir -p .bin/doors
for tool in buf grpcurl ghz; do
	ln -sf "$(GOWORK=off "$GO" tool -modfile=tools/go.mod -n $tool)" .bin/doors/$tool
done
"$GO" test ./e2e/doors -count=1 -timeout 5m -v -run AtOnce -args -tools "$PWD/.bin/doors"
