package flakeward;

import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Hands out the IDs of a flakeward daemon. It needs Java 17 and nothing else: copy this file.
 *
 * <pre>
 * try (Flakeward ids = Flakeward.open("/run/flakeward/flakeward.sock")) {
 *     long id = ids.next();
 * }
 * </pre>
 *
 * A program opens one client and shares it among its threads, which may be virtual ones.
 *
 * <p><b>Stock.</b> The client requests IDs ahead of need. {@link #next()} takes one from this stock
 * without a lock. The size of a request follows the demand: about as many IDs as are used in half
 * of the maximum age. At a demand below one ID in that time there is no stock, and each call asks
 * the daemon. A client that nobody calls does nothing. IDs that grow too old in stock and IDs of a
 * lost reply are discarded: that costs numbers, and never makes a duplicate.
 *
 * <p><b>Age.</b> An ID leaves the stock at most {@link Builder#maxAge} after the client began to
 * request it. A call that waits for a reply gets IDs which the daemon issued during the call,
 * whatever the wait. The age is measured by {@link System#nanoTime}, which counts the time of a
 * stopped process, and by the wall clock, which counts the time of a suspended machine as well. A
 * virtual machine that was restored with its clocks as they were cannot tell. Two copies of one
 * running machine have the same stock and hand it out twice.
 *
 * <p><b>Order.</b> A call that begins after another call has returned gets a higher ID, in whatever
 * threads. Calls that overlap get theirs in either order. The exceptions are those of the daemon
 * (docs/guarantees.md).
 *
 * <p><b>Waiting.</b> A call that finds no stock waits for the daemon, in the order of arrival, for
 * at most {@link Builder#timeout}. The client reconnects by itself: at once after a connection that
 * worked, then after 5 ms and at growing intervals of up to half a second. A restart of the daemon
 * that takes less than the timeout is a delay and not an error. A connection without an answer for the
 * timeout, and for 5 s, is given up.
 */
public final class Flakeward implements AutoCloseable {
    /** The socket of a daemon that root started without naming one. */
    public static final String DEFAULT_SOCKET = "/run/flakeward/flakeward.sock";

    /** The stock of a client that has none. */
    private static final Run NOTHING = new Run(0, 0, 0, 0, 0);

    private static final long MILLISECOND = 1_000_000;
    private static final long PATIENCE = 5000 * MILLISECOND; // for an answer, unless the timeout is longer
    private static final long FIRST_DELAY = 5 * MILLISECOND;
    private static final long LONGEST_DELAY = 500 * MILLISECOND;

    private final String socket;
    private final UnixDomainSocketAddress address;
    private final long maxAge; // ns
    private final long maxAgeMillis; // a difference of wall clocks above it means a suspended machine
    private final long timeout; // ns
    private final long patience; // ns without an answer after which a connection is given up
    private final long tenant;
    private final String cluster; // null: any
    private final Thread fetcher;

    private volatile Run current = NOTHING;
    private volatile long unanswered; // when the fetcher began to wait for an answer; 0: it does not

    private final ReentrantLock lock = new ReentrantLock(); // guards what follows
    private final Condition wake = lock.newCondition(); // the fetcher waits for it
    private final ArrayDeque<Run> behind = new ArrayDeque<>(); // the stock after the current run
    private final ArrayDeque<Waiter> waiting = new ArrayDeque<>(); // if any, there is no stock
    private final Demand demand = new Demand();
    private long need; // IDs that the waiters need
    private boolean low; // the stock is nearly used up
    private long since; // when the fetcher was first told of the present need
    private long requests; // sent so far
    private long used; // IDs taken from runs that are no longer current
    private Problem problem; // of the last attempt to reach the daemon; null after a success
    private SocketChannel channel;
    private boolean closed;

    private Flakeward(Builder b) {
        socket = b.socket;
        address = b.address;
        maxAge = b.maxAge.toNanos();
        maxAgeMillis = maxAge == 0 ? 0 : (maxAge - 1) / MILLISECOND + 1;
        timeout = b.timeout.toNanos();
        patience = Math.max(timeout, PATIENCE);
        tenant = b.tenant;
        cluster = b.cluster;
        fetcher = new Thread(this::work, "flakeward " + socket);
        fetcher.setDaemon(true);
        fetcher.start();
    }

    /** Makes a client of the daemon at a socket, with the defaults of {@link Builder}. */
    public static Flakeward open(String socket) {
        return at(socket).open();
    }

    /** Begins a client of the daemon at a socket. */
    public static Builder at(String socket) {
        return new Builder(socket);
    }

    /** The options of a client. */
    public static final class Builder {
        private static final Duration LONGEST_AGE = Duration.ofHours(1);
        private static final int LONGEST_PATH = 107; // bytes, by the kernel
        private static final Pattern UUID = Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");

        private final String socket;
        private final UnixDomainSocketAddress address;
        private Duration maxAge = Duration.ofMillis(5);
        private Duration timeout = Duration.ofSeconds(5);
        private long tenant;
        private String cluster;

        private Builder(String socket) {
            if (socket.isEmpty() || socket.getBytes(StandardCharsets.UTF_8).length > LONGEST_PATH) {
                throw new IllegalArgumentException("\"" + socket + "\" cannot be the path of a socket: it has 1 to "
                        + LONGEST_PATH + " bytes; `flakeward status` shows the daemon's");
            }
            this.socket = socket;
            this.address = UnixDomainSocketAddress.of(socket);
        }

        /**
         * Limits how old an ID from stock may be: from 0, with which each call asks the daemon, to an
         * hour. The default is 5 ms.
         */
        public Builder maxAge(Duration limit) {
            if (limit.isNegative() || limit.compareTo(LONGEST_AGE) > 0) {
                throw new IllegalArgumentException("maxAge(" + limit + ") is not within PT0S and " + LONGEST_AGE);
            }
            maxAge = limit;
            return this;
        }

        /** Limits how long a call waits for an ID: above 0, at most a day. The default is 5 s. */
        public Builder timeout(Duration limit) {
            if (limit.isNegative() || limit.isZero() || limit.compareTo(Duration.ofDays(1)) > 0) {
                throw new IllegalArgumentException("timeout(" + limit + ") is not above 0 and at most a day");
            }
            timeout = limit;
            return this;
        }

        /** Requests the IDs of one tenant of the cluster's layout. The default is 0. */
        public Builder tenant(long number) {
            if (number < 0) {
                throw new IllegalArgumentException("tenant(" + number + ") is below 0");
            }
            tenant = number;
            return this;
        }

        /**
         * Demands the cluster with a UUID, which {@code flakeward status} shows as cluster_id. The
         * client checks it at each connection before it requests an ID. IDs of two clusters may be
         * equal. The default is to accept any cluster.
         */
        public Builder cluster(String uuid) {
            String lower = uuid.toLowerCase(Locale.ROOT);
            if (!UUID.matcher(lower).matches()) {
                throw new IllegalArgumentException("cluster(\"" + uuid + "\") is not a cluster's UUID: take the cluster_id"
                        + " that `flakeward status` shows");
            }
            cluster = lower;
            return this;
        }

        /** Makes the client. It connects when the first ID is requested. */
        public Flakeward open() {
            return new Flakeward(this);
        }
    }

    /**
     * A call got no ID. {@link #code} is for programs, {@link #text} for people.
     *
     * <table>
     * <caption>Codes of the client. All others are the daemon's (docs/protocol.md, Errors).</caption>
     * <tr><td>UNREACHABLE</td><td>no daemon is reached at the socket; a retry is safe</td></tr>
     * <tr><td>TIMEOUT</td><td>the daemon has not answered within the timeout; a retry is safe</td></tr>
     * <tr><td>INTERRUPTED</td><td>the thread was interrupted; it still is</td></tr>
     * <tr><td>CLOSED</td><td>the client is closed</td></tr>
     * <tr><td>CLUSTER</td><td>the daemon is not in the demanded cluster</td></tr>
     * <tr><td>PROTOCOL</td><td>the listener at the socket is no flakeward daemon</td></tr>
     * </table>
     */
    public static final class NoIdException extends RuntimeException {
        private static final long serialVersionUID = 1;

        private final String code;
        private final String text;

        private NoIdException(Problem problem) {
            super("flakeward: " + problem.getMessage(), problem.getCause());
            code = problem.code;
            text = problem.text;
        }

        /** One word in capitals: UNAVAILABLE, UNREACHABLE, ERR, and others. */
        public String code() {
            return code;
        }

        /** The daemon's text after its code, or the client's own. */
        public String text() {
            return text;
        }
    }

    /**
     * Returns an ID.
     *
     * @throws NoIdException if there is none within the timeout
     */
    public long next() {
        Run r = current;
        long t = r.taken.getAndIncrement() + 1;
        if (t <= r.length && t != r.mark && young(r)) {
            return r.id(t);
        }
        return slow(r, t);
    }

    /** Returns an ID as decimal digits. JSON needs a string: JavaScript rounds numbers above 2^53. */
    public String nextString() {
        return Long.toString(next());
    }

    /**
     * Returns some new IDs in rising order: 1 or more, and more than the daemon issues at a time if
     * need be.
     *
     * @throws NoIdException if not all of them are there within the timeout; those that are, are lost
     */
    public long[] next(int count) {
        if (count < 1) {
            throw new IllegalArgumentException(count + " IDs cannot be had: request 1 or more");
        }
        Waiter w = new Waiter(count, timeout);
        gather(w);
        return w.ids(count);
    }

    /**
     * Ends the connection and the client's thread. Calls that wait, and calls that begin later, fail
     * with the code CLOSED. A second close does nothing.
     */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            behind.clear();
            current = NOTHING;
            closeQuietly(channel);
            fail(w -> true, closedProblem());
            wake.signal();
        } finally {
            lock.unlock();
        }
        try {
            fetcher.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    // ---- Stock.

    /** IDs in stock: one run of a reply. */
    private static final class Run {
        final AtomicLong taken = new AtomicLong(); // above length once all are
        final long first;
        final long step;
        final long length;
        final long nanos; // both clocks before the request was sent
        final long millis;
        long mark; // the refill begins when this ID is taken, counted from 1; 0: at none

        Run(long first, long step, long length, long nanos, long millis) {
            this.first = first;
            this.step = step;
            this.length = length;
            this.nanos = nanos;
            this.millis = millis;
        }

        /** The t-th ID, counted from 1. */
        long id(long t) {
            return first + (t - 1) * step;
        }

        long used() {
            return Math.min(taken.get(), length);
        }
    }

    private boolean young(Run r) {
        return System.nanoTime() - r.nanos < maxAge && System.currentTimeMillis() - r.millis <= maxAgeMillis;
    }

    /** Goes on with the t-th ID of r, which may not exist, be the mark, or be too old. */
    private long slow(Run r, long t) {
        if (t <= r.length && young(r)) {
            if (t == r.mark) {
                runLow();
            }
            return r.id(t);
        }
        Waiter w = new Waiter(1, timeout);
        gather(w);
        return w.pieces.get(0).first;
    }

    private record Piece(long first, long step, long length) {}

    /** A call that gathers IDs, from stock and then from replies. */
    private static final class Waiter {
        final Thread thread = Thread.currentThread();
        final long deadline;
        final List<Piece> pieces = new ArrayList<>(1);
        long need;
        long requests; // sent when it began to wait: the reply to a later one is its own
        volatile boolean done; // need is 0, or there is a problem
        Problem problem;

        // Pieces from stock may grow too old during the wait; its own do not. They are neighbours.
        int oldAt;
        int old;
        long oldIds;
        Run oldest;

        Waiter(long need, long timeout) {
            this.need = need;
            deadline = System.nanoTime() + timeout;
        }

        /** Claims IDs of r, as many as it needs and r has, and tells whether r's mark was among them. */
        boolean take(Run r, boolean own) {
            long want = Math.min(need, r.length);
            long end = r.taken.getAndAdd(want) + want;
            long from = Math.min(end - want, r.length);
            long to = Math.min(end, r.length);
            if (from < to) {
                if (!own && old++ == 0) {
                    oldAt = pieces.size();
                    oldest = r;
                }
                oldIds += own ? 0 : to - from;
                need -= to - from;
                pieces.add(new Piece(r.id(from + 1), r.step, to - from));
            }
            return from < r.mark && r.mark <= to;
        }

        /** Discards the pieces from stock. */
        void drop() {
            pieces.subList(oldAt, oldAt + old).clear();
            need += oldIds;
            old = 0;
            oldIds = 0;
        }

        long[] ids(int count) {
            long[] all = new long[count];
            int i = 0;
            for (Piece p : pieces) {
                for (long k = 0; k < p.length; k++) {
                    all[i++] = p.first + k * p.step;
                }
            }
            return all;
        }
    }

    /** Has w gather all IDs that it needs. */
    private void gather(Waiter w) {
        for (;;) {
            lock.lock();
            try {
                if (closed) {
                    throw new NoIdException(closedProblem());
                }
                drain(w);
                if (w.need > 0) {
                    w.done = false;
                    w.requests = requests;
                    waiting.add(w);
                    need += w.need;
                    wakeFetcher();
                } else {
                    w.done = true;
                }
            } finally {
                lock.unlock();
            }
            await(w);
            if (w.old == 0 || young(w.oldest)) {
                return;
            }
            w.drop();
        }
    }

    private void await(Waiter w) {
        boolean interrupted = false;
        while (!w.done) {
            long left = w.deadline - System.nanoTime();
            interrupted |= Thread.interrupted();
            if (interrupted || left <= 0) {
                giveUp(w, interrupted);
                break;
            }
            long since = unanswered;
            long quiet = since == 0 ? left : since + patience - System.nanoTime();
            if (quiet <= 0) {
                hangUp(since);
                quiet = left;
            }
            LockSupport.parkNanos(this, Math.min(left, quiet));
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (w.problem != null) {
            throw new NoIdException(w.problem);
        }
    }

    /** Ends a connection whose daemon hangs: by now another one may listen. */
    private void hangUp(long since) {
        lock.lock();
        try {
            if (unanswered == since) {
                unanswered = 0;
                closeQuietly(channel);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Ends the wait of w, unless it was served just now. */
    private void giveUp(Waiter w, boolean interrupted) {
        lock.lock();
        try {
            if (w.done) {
                return;
            }
            waiting.remove(w);
            need -= w.need;
            if (interrupted) {
                w.problem = new Problem("INTERRUPTED", "the thread was interrupted while it waited for an ID", true);
            } else if (problem != null) {
                w.problem = problem;
            } else {
                w.problem = new Problem("TIMEOUT", "the daemon at the socket " + socket + " has not answered within "
                        + Duration.ofNanos(timeout) + "; `flakeward status --socket` tells its state", false);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Requests more stock. */
    private void runLow() {
        lock.lock();
        try {
            low = true;
            wakeFetcher();
        } finally {
            lock.unlock();
        }
    }

    // The methods from here to "Fetcher" need the lock.

    private void wakeFetcher() {
        if (since == 0) {
            since = System.nanoTime() | 1;
        }
        wake.signal();
    }

    /** Has w gather the IDs in stock, in order. If they do not suffice, the stock is empty afterwards. */
    private void drain(Waiter w) {
        while (w.need > 0) {
            Run r = current;
            if (r.used() < r.length && young(r)) {
                if (w.take(r, false)) {
                    low = true;
                    wakeFetcher();
                }
                continue;
            }
            used += r.used();
            Run following = behind.poll();
            current = following == null ? NOTHING : following;
            if (following == null) {
                return;
            }
        }
    }

    /**
     * Takes in the runs of a reply. Those who wait are served first, in order, and get the IDs that
     * were issued while they waited, however long that took. The rest becomes stock if it is young. The
     * refill begins when the mark-th ID of the reply is taken, or the first one after it in stock.
     */
    private void stock(long request, List<Run> runs, long mark) {
        boolean young = young(runs.get(0));
        List<Waiter> served = new ArrayList<>();
        for (Run r : runs) {
            for (Waiter w = waiting.peek(); w != null && r.used() < r.length; w = waiting.peek()) {
                boolean own = w.requests < request;
                if (!own && !young) {
                    break;
                }
                long before = w.need;
                w.take(r, own);
                need -= before - w.need;
                if (w.need == 0) {
                    served.add(waiting.poll());
                }
            }
            long handed = r.used();
            if (handed == r.length || !young) {
                used += handed;
            } else {
                mark = Math.max(mark, handed + 1);
                if (mark <= r.length) {
                    r.mark = mark;
                    mark = Long.MAX_VALUE;
                }
                behind.add(r);
            }
            mark -= r.length;
        }
        if (!behind.isEmpty() && current.used() == current.length) {
            used += current.used();
            current = behind.poll();
        }
        // A caller that has its ID must not find stock from before it, so this comes last.
        served.forEach(Flakeward::finish);
    }

    /** Answers the waiters that which picks with a problem. */
    private void fail(Predicate<Waiter> which, Problem p) {
        waiting.removeIf(w -> {
            if (!which.test(w)) {
                return false;
            }
            need -= w.need;
            w.problem = p;
            finish(w);
            return true;
        });
    }

    private static void finish(Waiter w) {
        w.done = true;
        LockSupport.unpark(w.thread);
    }

    private Problem closedProblem() {
        return new Problem("CLOSED", "the client of the socket " + socket + " is closed", true);
    }

    /** Measures how many IDs are used, and says how many to request. */
    private static final class Demand {
        private static final double PAST = 0.75; // how much earlier requests count

        private boolean begun;
        private long handed; // in all, at the last request
        private long asked; // when that was sent
        private double used; // between the last requests
        private double elapsed;
        private long trip; // the longest of the last requests, ns

        /**
         * How many IDs to request when so many were handed out in all: what would be used within half of
         * the maximum age, at most twice of what was used since the last request. The other half of the
         * age is for the request and for the wait in stock.
         */
        long size(long handedNow, long now, long maxAge) {
            if (!begun) {
                return 0;
            }
            double rate = (used * PAST + (handedNow - handed)) / (elapsed * PAST + Math.max(now - asked, 1));
            return Math.min((long) (rate * maxAge / 2 + 0.5), 2 * (handedNow - handed));
        }

        void sent(long handedNow, long now) {
            if (begun) {
                used = used * PAST + (handedNow - handed);
                elapsed = elapsed * PAST + Math.max(now - asked, 1);
            }
            begun = true;
            handed = handedNow;
            asked = now;
        }

        void answered(long took) {
            trip = Math.max(took, trip - trip / 8);
        }

        /**
         * How many IDs of n are left when a refill has to begin: those used in two trips, at most three
         * quarters. Of a daemon at its limit, the numbers of a tick are lost if nobody requests them;
         * and with more than that in stock, the last IDs of the refill would grow too old.
         */
        long lead(long n) {
            return Math.min((long) (used / Math.max(elapsed, 1) * 2 * trip), n - n / 4);
        }
    }

    // ---- Fetcher: the client's thread. It alone talks to the daemon, one request at a time.

    /** What went wrong. It is thrown within the fetcher, and a NoIdException is made of it. */
    private static final class Problem extends Exception {
        private static final long serialVersionUID = 1;

        final String code;
        final String text;
        final boolean hopeless; // until somebody changes something: it is answered at once

        Problem(String code, String text, boolean hopeless) {
            this(code, text, text, hopeless, null);
        }

        Problem(String code, String text, String message, boolean hopeless, Throwable cause) {
            super(message, cause, false, false);
            this.code = code;
            this.text = text;
            this.hopeless = hopeless;
        }
    }

    /** An error reply: the request got nothing, the connection goes on. */
    private static final class Refusal extends Exception {
        private static final long serialVersionUID = 1;

        /** The refusal of a count that cannot be had in time, with the largest that can. */
        private static final Pattern AT_MOST =
                Pattern.compile(" IDs cannot be had within .*?: at most ([1-9][0-9]{0,8}) can( now)?");

        final String line;

        Refusal(String line) {
            super(line, null, false, false);
            this.line = line;
        }

        Problem problem() {
            int blank = line.indexOf(' ');
            String code = blank < 0 ? line : line.substring(0, blank);
            String text = blank < 0 ? "" : line.substring(blank + 1);
            boolean transientRefusal = text.startsWith("too many connections"); // there may be fewer next time
            return new Problem(code, text, "the daemon refuses the request: " + line, !transientRefusal, null);
        }
    }

    private void work() {
        Link link = null;
        int failures = 0; // attempts since the last reply
        while (isNeeded()) {
            Problem p;
            try {
                if (link == null) {
                    failures++;
                    link = connect();
                }
                ask(link);
                failures = 0;
                continue;
            } catch (Problem e) {
                p = e;
            } catch (AsynchronousCloseException e) {
                p = unreachable(new IOException("no answer within " + Duration.ofNanos(patience), e));
            } catch (IOException e) {
                p = unreachable(e);
            } catch (RuntimeException | Error e) { // such as a lack of memory: the client goes on
                p = new Problem("UNREACHABLE", e.toString(), "the client's thread failed: " + e, false, e);
                failures++;
            }
            unanswered = 0;
            // A connection that has worked is made anew at once.
            if (link != null) {
                failures = link.replied ? 0 : failures + 1;
                closeQuietly(link.channel);
                link = null;
            }
            failed(p, failures);
        }
        if (link != null) {
            closeQuietly(link.channel);
        }
    }

    /** Waits until there is a reason to talk to the daemon; false: the client is closed. */
    private boolean isNeeded() {
        lock.lock();
        try {
            while (!closed && !low && waiting.isEmpty()) {
                since = 0;
                wake.awaitUninterruptibly();
            }
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    /** Makes one request, and takes in the reply. */
    private void ask(Link link) throws IOException, Problem {
        long most = link.once > 0 ? Math.min(link.once, link.most) : link.most;
        long n;
        long request;
        long began;
        lock.lock();
        try {
            long now = System.nanoTime();
            long handed = used + current.used();
            n = Math.min(demand.size(handed, now, maxAge), most);
            low = false;
            if (waiting.isEmpty() && n < 2) {
                return;
            }
            n = Math.min(Math.max(n, need), most);
            demand.sent(handed, now);
            request = ++requests;
            began = since == 0 ? now : since;
            since = 0;
            unanswered = now | 1;
        } finally {
            lock.unlock();
        }
        link.once = 0;
        long nanos = System.nanoTime();
        long millis = System.currentTimeMillis();
        List<Run> runs;
        try {
            if (tenant == 0) {
                link.send("RUN", Long.toString(n));
            } else {
                link.send("RUN", Long.toString(n), "TENANT", Long.toString(tenant));
            }
            runs = link.runs(n, nanos, millis);
        } catch (Refusal e) {
            unanswered = 0;
            link.replied = true;
            refused(link, e, n, request);
            return;
        }
        unanswered = 0;
        link.replied = true;
        lock.lock();
        try {
            problem = null;
            if (!closed) {
                demand.answered(System.nanoTime() - began);
                long total = runs.stream().mapToLong(r -> r.length).sum();
                stock(request, runs, total - demand.lead(total));
            }
        } finally {
            lock.unlock();
        }
    }

    /** Requests fewer IDs if that is the reason for a refusal, or else answers those who waited. */
    private void refused(Link link, Refusal e, long n, long request) {
        Matcher m = Refusal.AT_MOST.matcher(e.line);
        if (m.find() && Long.parseLong(m.group(1)) < n) {
            link.once = Long.parseLong(m.group(1));
            if (m.group(2) == null) {
                link.most = link.once;
            }
            return;
        }
        lock.lock();
        try {
            problem = null;
            fail(w -> w.requests < request, e.problem());
        } finally {
            lock.unlock();
        }
    }

    /** Connects, and asks which cluster the daemon is in and how many IDs it issues at a time. */
    private Link connect() throws IOException, Problem {
        SocketChannel c = SocketChannel.open(StandardProtocolFamily.UNIX);
        lock.lock();
        try {
            if (closed) {
                closeQuietly(c);
                throw closedProblem();
            }
            channel = c;
            unanswered = System.nanoTime() | 1;
        } finally {
            lock.unlock();
        }
        try {
            c.connect(address);
            Link link = new Link(c);
            link.send("INFO", "server", "cluster");
            String info = link.bulk();
            String max = field(info, "max_count");
            if (!max.matches("[1-9][0-9]{0,8}")) {
                throw alien("its INFO has no max_count");
            }
            link.most = Long.parseLong(max);
            String found = field(info, "cluster_id");
            if (cluster != null && !cluster.equalsIgnoreCase(found)) {
                throw new Problem("CLUSTER", "the daemon at the socket " + socket
                        + (found.isEmpty() ? " has not joined a cluster yet" : " is in cluster " + found)
                        + ", and IDs of cluster " + cluster + " are demanded", !found.isEmpty());
            }
            lock.lock();
            problem = null;
            unanswered = 0;
            lock.unlock();
            return link;
        } catch (Refusal e) {
            closeQuietly(c);
            throw e.problem();
        } catch (IOException | RuntimeException | Problem e) {
            closeQuietly(c);
            throw e;
        }
    }

    private static String field(String info, String name) {
        return info.lines().filter(l -> l.startsWith(name + ":")).map(l -> l.substring(name.length() + 1).strip())
                .findFirst().orElse("");
    }

    /** Answers those whom another attempt does not help, and waits until that. */
    private void failed(Problem p, int failures) {
        Thread.interrupted(); // nobody has a reason to interrupt this thread, and the next connection must not break
        lock.lock();
        try {
            if (closed) {
                return;
            }
            problem = p;
            low = false;
            since = 0;
            if (p.hopeless) {
                fail(w -> true, p);
            }
            if (failures > 0) {
                long delay = Math.min(LONGEST_DELAY, FIRST_DELAY << Math.min(failures - 1, 16));
                long until = System.nanoTime() + delay / 2 + ThreadLocalRandom.current().nextLong(delay / 2);
                for (long left = until - System.nanoTime(); !closed && left > 0; left = until - System.nanoTime()) {
                    wake.awaitNanos(left);
                }
            }
        } catch (InterruptedException e) {
            // As above.
        } finally {
            lock.unlock();
        }
    }

    private Problem unreachable(IOException e) {
        boolean hopeless = false;
        String advice = "is its daemon running? `flakeward status --socket` tells";
        Path path = address.getPath();
        try {
            boolean file = !Files.readAttributes(path, BasicFileAttributes.class).isOther();
            hopeless = file || !Files.isWritable(path);
            if (file) {
                advice = "it is no socket; name the socket of a daemon";
            } else if (hopeless) {
                advice = "this user may not use it: the socket's mode and group say who may (the daemon's --socket-mode"
                        + " and --socket-group)";
            }
        } catch (NoSuchFileException none) {
            advice = "there is no such socket; start a daemon, or name the socket of the one that runs";
        } catch (AccessDeniedException denied) {
            hopeless = true;
            advice = "this user may not enter its directory";
        } catch (IOException other) {
            // The attempt's own message says enough.
        }
        String text = "no daemon is reached at the socket " + socket + ": " + advice + " (" + e.getMessage() + ")";
        return new Problem("UNREACHABLE", text, text, hopeless, e);
    }

    private Problem alien(String why) {
        return new Problem("PROTOCOL", "the listener at the socket " + socket + " does not answer as a flakeward daemon: " + why,
                true);
    }

    private static void closeQuietly(SocketChannel c) {
        try {
            if (c != null) {
                c.close();
            }
        } catch (IOException e) {
            // It is gone anyway.
        }
    }

    /** A connection. It reads replies strictly: IDs of something that is no flakeward daemon must not be used. */
    private final class Link {
        private static final int LONGEST_LINE = 4096;
        private static final int LONGEST_BULK = 1 << 20;

        final SocketChannel channel;
        final ByteBuffer in = ByteBuffer.allocateDirect(8192).flip();
        long most; // IDs in a request
        long once; // IDs in the next request, if that is fewer; 0: it is not
        boolean replied;

        Link(SocketChannel channel) {
            this.channel = channel;
        }

        void send(String... words) throws IOException, Refusal {
            StringBuilder b = new StringBuilder("*").append(words.length).append("\r\n");
            for (String word : words) {
                b.append('$').append(word.length()).append("\r\n").append(word).append("\r\n");
            }
            ByteBuffer out = StandardCharsets.US_ASCII.encode(b.toString());
            try {
                while (out.hasRemaining()) {
                    channel.write(out);
                }
            } catch (IOException e) {
                unasked();
                throw e;
            }
        }

        /** Reads the refusal that a full daemon sends before it closes a connection, if there is one. */
        private void unasked() throws Refusal {
            try {
                number('*');
            } catch (IOException | Problem e) {
                // There is none.
            }
        }

        /** Reads the reply to RUN n. */
        List<Run> runs(long n, long nanos, long millis) throws IOException, Refusal, Problem {
            long words = number('*');
            if (words < 3 || words % 2 == 0 || words / 2 > n) {
                throw alien("an array of " + words + " integers for " + n + " IDs");
            }
            long step = integer();
            if (step < 1) {
                throw alien("a step of " + step);
            }
            List<Run> runs = new ArrayList<>((int) (words / 2));
            long left = n;
            for (long i = 0; i < words / 2; i++) {
                long first = integer();
                long length = integer();
                if (first < 0 || length < 1 || length > left || length - 1 > (Long.MAX_VALUE - first) / step) {
                    throw alien("a run of " + length + " IDs from " + first + " on, of " + n + " that were requested");
                }
                left -= length;
                runs.add(new Run(first, step, length, nanos, millis));
            }
            return runs;
        }

        String bulk() throws IOException, Refusal, Problem {
            long length = number('$');
            if (length < 0 || length > LONGEST_BULK) {
                throw alien("a string of " + length + " bytes");
            }
            byte[] text = new byte[(int) length];
            for (int i = 0; i < length; i++) {
                text[i] = read();
            }
            end();
            return new String(text, StandardCharsets.UTF_8);
        }

        private long integer() throws IOException, Problem {
            expect((byte) ':', read());
            return digits();
        }

        /** Reads a reply's first line: a kind and a number, or a refusal. */
        private long number(char kind) throws IOException, Refusal, Problem {
            byte b = read();
            if (b == '-') {
                throw new Refusal(line());
            }
            expect((byte) kind, b);
            return digits();
        }

        private void expect(byte want, byte got) throws Problem {
            if (got != want) {
                throw alien("the byte " + (got & 0xff) + " in place of " + want);
            }
        }

        /** Reads digits, a minus before them or not, and the line's end. */
        private long digits() throws IOException, Problem {
            byte b = read();
            boolean minus = b == '-';
            if (minus) {
                b = read();
            }
            long n = 0;
            int count = 0;
            for (; b >= '0' && b <= '9'; b = read()) {
                int digit = b - '0';
                if (n > (Long.MAX_VALUE - digit) / 10) {
                    throw alien("an integer above 2^63");
                }
                n = n * 10 + digit;
                count++;
            }
            if (count == 0) {
                throw alien("a line without a number");
            }
            expect((byte) '\r', b);
            expect((byte) '\n', read());
            return minus ? -n : n;
        }

        private String line() throws IOException, Problem {
            StringBuilder b = new StringBuilder();
            for (byte c = read(); c != '\r'; c = read()) {
                if (b.length() == LONGEST_LINE) {
                    throw alien("a line without an end");
                }
                b.append((char) (c & 0xff));
            }
            expect((byte) '\n', read());
            return new String(b.toString().getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
        }

        private void end() throws IOException, Problem {
            expect((byte) '\r', read());
            expect((byte) '\n', read());
        }

        private byte read() throws IOException {
            while (!in.hasRemaining()) {
                int n;
                in.clear();
                try {
                    n = channel.read(in);
                } finally {
                    in.flip();
                }
                if (n < 0) {
                    throw new EOFException("the daemon closed the connection");
                }
            }
            return in.get();
        }
    }
}
