package org.apache.zookeeper.common;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Date;

/** ZooKeeper's clocks for the drills: the wall clock is ahead by the seconds that a file holds. */
public class Time {
    private static final Path FILE = Path.of(System.getenv("FLAKEWARD_DRILL_CLOCK"));
    private static volatile long offset; // in ms
    private static volatile long looked = currentElapsedTime() - 1000;

    public static long currentElapsedTime() {
        return System.nanoTime() / 1000000;
    }

    public static long currentWallTime() {
        long now = currentElapsedTime();
        if (now - looked >= 10) {
            looked = now;
            try {
                offset = 1000 * Long.parseLong(Files.readString(FILE).trim());
            } catch (IOException | NumberFormatException e) {
                offset = 0; // there is no such file
            }
        }
        return System.currentTimeMillis() + offset;
    }

    public static Date elapsedTimeToDate(long elapsedTime) {
        return new Date(currentWallTime() + elapsedTime - currentElapsedTime());
    }
}
