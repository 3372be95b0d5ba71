import flakeward.Flakeward;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * Does with one client what the lines on standard input say, and answers each with a line. The
 * arguments are the socket and options such as maxAge=5 (in ms).
 */
public final class Console {
    public static void main(String[] args) throws Exception {
        Flakeward.Builder options = Flakeward.at(args[0]);
        for (String option : Arrays.asList(args).subList(1, args.length)) {
            String value = option.substring(option.indexOf('=') + 1);
            switch (option.substring(0, option.indexOf('='))) {
                case "maxAge" -> options.maxAge(Duration.ofMillis(Long.parseLong(value)));
                case "timeout" -> options.timeout(Duration.ofMillis(Long.parseLong(value)));
                case "tenant" -> options.tenant(Long.parseLong(value));
                case "cluster" -> options.cluster(value);
                default -> throw new IllegalArgumentException(option);
            }
        }
        Flakeward ids = options.open();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            String said;
            try {
                said = act(ids, words[0], words.length > 1 ? Integer.parseInt(words[1]) : 1);
            } catch (Flakeward.NoIdException e) {
                said = e.code() + ": " + e.text();
                if (!e.getMessage().contains(e.text())) {
                    said = "the message lacks the text: " + e.getMessage();
                }
                if (e.code().equals("INTERRUPTED")) {
                    said += "; interrupted=" + Thread.interrupted();
                }
            }
            System.out.println(said);
        }
    }

    private static String act(Flakeward ids, String command, int n) throws InterruptedException {
        switch (command) {
            case "each": // n calls
                return text(LongStream.generate(ids::next).limit(n));
            case "last": // n calls, and the ID of the last
                for (int i = 1; i < n; i++) {
                    ids.next();
                }
                return Long.toString(ids.next());
            case "ids": // one call
                return text(LongStream.of(ids.next(n)));
            case "string":
                return ids.nextString();
            case "interrupted":
                Thread.currentThread().interrupt();
                return Long.toString(ids.next());
            case "order":
                return order(ids, n);
            case "threads": // those of clients
                return Long.toString(Thread.getAllStackTraces().keySet().stream()
                        .filter(t -> t.getName().startsWith("flakeward ")).count());
            case "close":
                ids.close();
                ids.close();
                return "closed";
            default:
                throw new IllegalArgumentException(command);
        }
    }

    private static String text(LongStream all) {
        return all.mapToObj(Long::toString).collect(Collectors.joining(" "));
    }

    /** Has four threads make n calls each: a call that begins after another returned gets a higher ID. */
    private static String order(Flakeward ids, int n) throws InterruptedException {
        AtomicLong highest = new AtomicLong(); // that was returned
        AtomicLong wrong = new AtomicLong();
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                for (int k = 0; k < n; k++) {
                    long before = highest.get();
                    long[] got = k % 64 == 0 ? ids.next(3) : new long[] {ids.next()};
                    for (long id : got) {
                        if (id <= before) {
                            wrong.incrementAndGet();
                        }
                        before = id;
                    }
                    highest.accumulateAndGet(before, Math::max);
                }
            });
            threads[i].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        return wrong + " wrong";
    }
}
