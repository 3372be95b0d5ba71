#!/bin/sh
# build.sh etcd|zookeeper: builds the coordinator's image without a registry, and
# tags it flakeward-NAME:local. It is built once: as long as nothing in its
# directory has changed, and the image is there, nothing is done.
set -eu
umask 022 # whoever builds it, others run it

here=$(cd "$(dirname "$0")" && pwd)
name=${1:-}
[ -n "$name" ] && [ -f "$here/$name/Dockerfile" ] || {
	echo "build.sh: there is no image '$name' here: etcd and zookeeper can be built." >&2
	exit 2
}
image=flakeward-$name:local

# What the image is made of, as a label on it: files that changed build another.
inputs=$(cd "$here" && find build.sh "$name" -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c 1-16)
built=$(docker image inspect --format '{{index .Config.Labels "flakeward.inputs"}}' "$image" 2>/dev/null || true)
if [ "$built" = "$inputs" ]; then
	echo "$image is there"
	exit 0
fi

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
trap 'exit 1' INT TERM
sh "$here/$name/prepare.sh" "$context" || {
	echo "build.sh: $image was not built: what is said above has to be mended first." >&2
	exit 1
}
docker build --quiet --label "flakeward.inputs=$inputs" --tag "$image" --file "$here/$name/Dockerfile" "$context" >/dev/null
docker image inspect --format "$image: {{.Size}} bytes" "$image"
