#!/bin/sh
# Starts a member as the official image does: /conf/zoo.cfg is its configuration,
# ZOO_MY_ID its number, ZK_SERVER_HEAP its heap in MB, JVMFLAGS more for Java.
set -eu

if [ "$*" != 'zkServer.sh start-foreground' ]; then
	exec "$@"
fi
if [ ! -f /data/myid ]; then
	echo "${ZOO_MY_ID:-1}" >/data/myid
fi
# JVMFLAGS is several words.
exec /opt/java/bin/java "-Xmx${ZK_SERVER_HEAP:-1000}m" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData \
	-Djava.net.preferIPv4Stack=true -Djava.awt.headless=true -Dzookeeper.jmx.log4j.disable=true \
	-Dorg.slf4j.simpleLogger.showDateTime=true "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS" \
	${JVMFLAGS:-} -cp "/opt/zookeeper/*" org.apache.zookeeper.server.quorum.QuorumPeerMain /conf/zoo.cfg
