#!/bin/sh
# prepare.sh DIRECTORY: puts a root file system together in which ZooKeeper runs,
# and nothing else: the jars that a server loads, a Java runtime of the modules
# that these need, the C libraries below it, and busybox for a shell. All are
# Debian's packages, which apt fetches and checks; none is installed, so this
# needs no root.
set -eu

for tool in apt-get apt-cache dpkg-deb; do
	command -v "$tool" >/dev/null || {
		echo "prepare.sh: there is no '$tool': the image is made of Debian's packages, so build it on Debian or Ubuntu, or use the official image of ZooKeeper." >&2
		exit 1
	}
done

# The Java that Debian's release has: the newest may be newer than its jars know.
jdk=$(apt-cache depends default-jdk-headless | sed -n 's/^ *Depends: \(openjdk-[0-9]*\)-jdk-headless$/\1/p')
[ -n "$jdk" ] || {
	echo "prepare.sh: apt does not know default-jdk-headless: run apt-get update as root first." >&2
	exit 1
}

root=$1/root
work=$1/work
mkdir -p "$root" "$work/packages" "$work/tree"

log=$work/log
(cd "$work/packages" && apt-get download -q \
	"$jdk-jdk-headless" "$jdk-jre-headless" \
	libzookeeper-java libnetty-java libslf4j-java libcommons-cli-java libcommons-io-java libsnappy-java libdropwizard-metrics-java \
	libc6 libstdc++6 libgcc-s1 zlib1g busybox-static) >"$log" 2>&1 || {
	cat "$log" >&2
	echo "prepare.sh: apt-get could not fetch the packages (its messages are above): run apt-get update as root, or check its sources." >&2
	exit 1
}
for package in "$work"/packages/*.deb; do
	dpkg-deb --extract "$package" "$work/tree"
done
tree=$work/tree

# The libraries first: jlink itself runs on the ones of this host.
mkdir -p "$root/lib"
for library in libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libresolv.so.2 libstdc++.so.6 libgcc_s.so.1 libz.so.1; do
	found=$(find "$tree/lib" "$tree/usr/lib" -path '*-linux-gnu*' -name "$library" | head -n 1)
	[ -n "$found" ] || { echo "prepare.sh: Debian's packages have no $library where it used to be: list the library of the new name here." >&2; exit 1; }
	cp -L "$found" "$root/lib/$library"
done
# The loader lies where programs expect it, which differs between machines.
for loader in "$tree"/lib64/ld-linux-*.so.* "$tree"/lib/ld-linux-*.so.*; do
	[ -e "$loader" ] || [ -L "$loader" ] || continue
	place=${loader#"$tree"}
	mkdir -p "$root$(dirname "$place")"
	cp -L "$(find "$tree/lib" -path '*-linux-gnu*' -name "$(basename "$loader")" | head -n 1)" "$root$place"
done

mkdir -p "$root/opt/zookeeper"
for jar in zookeeper zookeeper-jute netty-buffer netty-codec netty-common netty-handler netty-resolver netty-transport \
	netty-transport-native-epoll netty-transport-native-unix-common slf4j-api slf4j-simple commons-cli commons-io snappy-java metrics-core; do
	cp -L "$tree/usr/share/java/$jar.jar" "$root/opt/zookeeper/"
done

home=$(dirname "$(dirname "$(find "$tree/usr/lib/jvm" -path '*/bin/jlink' | head -n 1)")")
# Its settings are links to /etc of a host that has it installed.
rm -rf "$home/conf" "$home/lib/security"
cp -r "$tree"/etc/java-*-openjdk "$home/conf"
"$home/bin/jlink" --module-path "$home/jmods" --output "$root/opt/java" \
	--add-modules java.base,java.logging,java.management,java.naming,java.security.jgss,java.security.sasl,java.xml,jdk.management,jdk.unsupported \
	--vm server --strip-java-debug-attributes --no-header-files --no-man-pages --compress=1

mkdir -p "$root/bin"
cp -L "$(find "$tree" -path "*/bin/busybox" -type f | head -n 1)" "$root/bin/busybox"
for applet in sh cat echo grep id ls nc ps; do
	ln -s busybox "$root/bin/$applet"
done

# Directories of the user zookeeper, for volumes to take the owner from.
mkdir -p "$1/own/data" "$1/own/datalog" "$1/own/logs" "$1/own/conf"
cp "$(dirname "$0")/entrypoint.sh" "$1/"
rm -rf "$work"
