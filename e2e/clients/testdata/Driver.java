import flakeward.Flakeward;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.LongStream;

/** The driver of Java, as doc.go describes it. */
public final class Driver {
    private static final int EVERY = 61; // one call in so many is timed
    private static final int SAMPLES = 1 << 18; // of a thread

    private final Flakeward ids;
    private final long end;
    private final DataOutputStream records; // null: none
    private final long[] took = new long[SAMPLES];
    private int samples;
    private long calls;
    private long errors;
    private IOException failure;

    private Driver(Flakeward ids, long end, DataOutputStream records) {
        this.ids = ids;
        this.end = end;
        this.records = records;
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[2]);
        double seconds = Double.parseDouble(args[3]);
        Driver[] drivers = new Driver[threads];
        Thread[] running = new Thread[threads];
        long begun = System.nanoTime();
        try (Flakeward ids = Flakeward.open(args[0])) {
            for (int i = 0; i < threads; i++) {
                DataOutputStream out = args[1].equals("-") ? null
                        : new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(Path.of(args[1] + "." + i)), 1 << 16));
                drivers[i] = new Driver(ids, begun + (long) (seconds * 1e9), out);
                running[i] = new Thread(drivers[i]::run);
            }
            for (Thread t : running) {
                t.start();
            }
            for (Thread t : running) {
                t.join();
            }
        }
        double elapsed = (System.nanoTime() - begun) / 1e9;
        long calls = 0;
        long errors = 0;
        for (Driver d : drivers) {
            if (d.failure != null) {
                throw d.failure;
            }
            calls += d.calls;
            errors += d.errors;
        }
        long[] took = Arrays.stream(drivers).flatMapToLong(d -> LongStream.of(d.took).limit(d.samples)).sorted().toArray();
        long p99 = took.length == 0 ? 0 : took[took.length * 99 / 100];
        System.out.printf("FIGURE java threads=%d ids_per_s=%.0f p99_ns=%d errors=%d%n", threads, calls / elapsed, p99, errors);
    }

    private void run() {
        try (records) {
            for (long now = System.nanoTime(); now < end;) {
                try {
                    for (int i = 1; i < EVERY; i++) {
                        take();
                    }
                    long before = System.nanoTime();
                    take();
                    now = System.nanoTime();
                    took[samples++ % SAMPLES] = now - before;
                } catch (Flakeward.NoIdException e) {
                    errors++;
                    now = System.nanoTime();
                }
            }
        } catch (IOException e) {
            failure = e;
        }
    }

    private void take() throws IOException {
        long id = ids.next();
        calls++;
        if (records != null) {
            records.writeLong(id);
        }
    }
}
