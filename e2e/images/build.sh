#!/bin/sh
# build.sh NAME: builds an image without a registry and tags it flakeward-NAME:local: drill, the daemon of the drill build
# (or $IMAGE in the place of that name), sidecar, the client that records, or one of the directories here. Those are built
# once: as long as nothing in its directory has changed, and the image is there, nothing is done.
set -eu
umask 022 # whoever builds it, others run it

here=$(cd "$(dirname "$0")" && pwd)
name=${1:-}
root=$here/../..
case $name in drill | sidecar)
	context=$(mktemp -d)
	trap 'rm -rf "$context"' EXIT
	trap 'exit 1' INT TERM
	if [ "$name" = drill ]; then
		"$root/scripts/load-image" "${IMAGE:-flakeward-drill:local}" e2e ./drilldaemon drill
	else
		mkdir -p "$context/own/out"
		GOOS=linux LDFLAGS='-s -w' "$root/scripts/build" "$context/sidecar" e2e ./sidecar
		docker build --quiet --tag flakeward-sidecar:local --file "$here/sidecar/Dockerfile" "$context" >/dev/null
		docker image inspect --format 'flakeward-sidecar:local: {{.Size}} bytes' flakeward-sidecar:local
	fi
	exit ;;
esac
[ -n "$name" ] && [ -f "$here/$name/Dockerfile" ] || {
	echo "build.sh: there is no image '$name' here." >&2
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
