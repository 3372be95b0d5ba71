"""IDs from the flakeward daemon on this host, for Python 3.9 and later: copy this file.

    import flakeward

    ids = flakeward.Client("/run/flakeward/flakeward.sock")
    id = ids.next()            # from any thread
    many = ids.take(1000)      # a list
    id = await ids.anext()     # with asyncio
    many = await ids.atake(1000)
    ids.close()

A program opens one client and shares it among its threads and event loops. The client asks for IDs
ahead of need, in runs, and keeps them as its stock. next() hands out an ID from stock without a
lock. Each call checks the age of the ID: an ID older than max_age is discarded. How many IDs the
client asks for follows the demand: about as many as are used within half of max_age. At less than
one ID in that time there is no stock, and each call asks the daemon.

The client has no thread of its own. The call that finds three quarters of the stock used sends the
next request and goes on. The call that finds no stock reads the reply. An asyncio call that has to
wait does so in the executor of the loop, with one job for all calls that wait in that loop.

IDs that were discarded, or were in a lost reply, are never handed out. After a fork the child has
an empty stock and a connection of its own. The client does not notice a fork by C code that skips
Python's hooks for forks (PyOS_AfterFork_Child): open the client after such a fork.

A signal's handler and a finalizer may call the client, too. Where they interrupt a call that waits,
they get their IDs over a connection of their own.

The IDs that one thread or task gets rise, with the exceptions that docs/guarantees.md names.
"""

import asyncio
import errno
import math
import os
import random
import re
import socket
import sys
import threading
import time
import weakref
from collections import deque
from functools import partial
from itertools import islice
from operator import length_hint

__all__ = [
    "Client", "Error", "RefusedError", "UnavailableError", "UnreachableError", "NoReplyError",
    "ClusterError", "ProtocolError", "ClosedError", "DEFAULT_SOCKET",
]

DEFAULT_SOCKET = "/run/flakeward/flakeward.sock"

# The clock of ages goes on while the machine is suspended, where the system has such a clock.
if hasattr(time, "CLOCK_BOOTTIME"):
    _now = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
else:
    _now = time.monotonic

_GREETING = 1.0  # seconds in which an attempt to connect has to be answered
_PATIENCE = 5.0  # seconds without an answer after which a connection is given up, unless the timeout is longer
_HIGHEST = (1 << 63) - 1  # ID
_TURN = 0.02  # seconds that a thread waits before others may
_FIRST_DELAY, _LONGEST_DELAY = 0.005, 0.5
_HOPELESS = (errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSOCK)  # until somebody changes something
_LONGEST_LINE = 64 << 10
_NOTHING = (iter(()), -math.inf)
_AT_MOST = re.compile(r" IDs cannot be had within .*: at most (\d+) can( now)?")


class Error(Exception):
    """What all errors of this module are. code is one word in capitals. text says what is wrong and
    what to do."""

    def __init__(self, code, text):
        super().__init__(code, text)
        self.code = code
        self.text = text

    def __str__(self):
        return "flakeward: %s: %s" % (self.code, self.text)


class RefusedError(Error):
    """The daemon refused the request, and would refuse it again. code and text are the daemon's."""


class UnavailableError(RefusedError):
    """The daemon cannot issue IDs now, and has waited for that already. A retry is safe."""


class UnreachableError(Error):
    """No daemon is reached at the socket. The code is UNREACHABLE."""


class NoReplyError(Error):
    """The daemon has not answered within the timeout. The code is TIMEOUT."""


class ClusterError(Error):
    """The daemon is not in the cluster that is demanded. The code is CLUSTER."""


class ProtocolError(Error):
    """The listener at the socket is no flakeward daemon. The code is PROTOCOL."""


class ClosedError(Error):
    """The client is closed. The code is CLOSED."""


def _closed():
    return ClosedError("CLOSED", "the client is closed")


def _unreachable(path, cause):
    number = getattr(cause, "errno", None)
    if number == errno.ENOENT:
        advice = "there is no such socket; start a daemon, or name the socket of a running one"
    elif number == errno.ECONNREFUSED:
        advice = "no daemon listens there; start the daemon"
    elif number in (errno.EACCES, errno.EPERM):
        advice = ("this user may not use the socket; "
                  "the daemon's --socket-mode and --socket-group say who may")
    elif "too long" in str(cause):
        advice = "the path is too long for a socket"
    else:
        advice = "`flakeward status --socket` shows the daemon's state"
    return UnreachableError("UNREACHABLE", "no daemon is reached at the socket %s: %s (%s)" % (path, advice, cause))


class _Late(Exception):
    """No reply came by the deadline. It may still come, so the connection stays open for a while."""


class _Again(Exception):
    """The connection is of no use. The error is for a call that cannot wait for another one."""

    def __init__(self, error):
        super().__init__(error)
        self.error = error


class Client:
    """IDs of the daemon at a socket. The constructor does not connect: the first call does.

    max_age: seconds that an ID may have been in stock, from 0 (each call asks the daemon) to 3600.
    timeout: seconds that a call waits at most. Meanwhile the client connects again and again, so
        that a restart of the daemon is not noticed. A connection without an answer for that long,
        and for 5 s, is given up.
    tenant: a number of the layout's tenants.
    cluster: take IDs only of the cluster with this UUID; `flakeward status` shows it as cluster_id.
    """

    def __init__(self, path=DEFAULT_SOCKET, *, max_age=0.005, timeout=5.0, tenant=0, cluster=None):
        if not path:
            raise ValueError("flakeward: the path of the socket is empty; `flakeward status` shows it")
        if not 0 <= max_age <= 3600:
            raise ValueError("flakeward: max_age is %r; 0 to 3600 seconds are allowed" % (max_age,))
        if not 0 < timeout <= threading.TIMEOUT_MAX:
            raise ValueError("flakeward: timeout is %r; more than 0 seconds are allowed" % (timeout,))
        if not re.fullmatch("[0-9]{1,10}", str(tenant)):
            raise ValueError("flakeward: tenant is %r; a number is allowed" % (tenant,))
        self._options = os.fspath(path), max_age, timeout, str(tenant), cluster
        self._closed = False
        self._session = _Session(*self._options)
        _clients.add(self)

    def next(self):
        """An ID. Raises an Error if none can be had within the timeout."""
        session = self._session
        ids, until = session.stock
        if _now() < until:
            for id in ids:
                if session.forks == len(_forks):
                    return id
                break  # it is the parent's
        return self._take(1)[0]

    def take(self, n):
        """n IDs, as a list."""
        return self._take(_count(n))

    async def anext(self):
        """next() for asyncio."""
        session = self._session
        ids, until = session.stock
        if _now() < until:
            for id in ids:
                if session.forks == len(_forks):
                    return id
                break  # it is the parent's
        return (await self._wait(1))[0]

    async def atake(self, n):
        """take() for asyncio."""
        return await self._wait(_count(n))

    def close(self):
        """Ends the connection. Calls that wait raise ClosedError, and so do all later ones."""
        self._closed = True
        self._own().close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.close()

    def _take(self, n):
        while True:
            session = self._own()
            try:
                ids = session.take(n)
            except Error:
                if session.forks == len(_forks):
                    raise
            else:
                if session.forks == len(_forks):  # if not, this is a child: the parent has these IDs
                    return ids

    def _own(self):
        """The session of this process. It looks again, as an exception that a signal's handler raises
        may have ended the hook for forks too early: Python prints such a one, and goes on."""
        if self._session.forks != len(_forks):
            self._forked()
        return self._session

    def _forked(self):
        """Goes on in the child: what the parent has is not used here."""
        session, self._session = self._session, _Session(*self._options)
        session.abandon()
        if self._closed:
            self._session.close()

    # asyncio. In each loop one call of _take at a time serves all who wait there.

    def _wait(self, n):
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        loops = self._own().loops
        if loop in loops:
            loops[loop].append((n, future))
        else:
            loops[loop] = [(n, future)]
            self._serve(loop)
        return future

    def _serve(self, loop):
        loops = self._own().loops
        waiting = [(n, future) for n, future in loops.get(loop, ()) if not future.done()]
        if not waiting:
            loops.pop(loop, None)
            return
        loops[loop] = []  # those who come from now on
        try:
            job = loop.run_in_executor(None, self._take, sum(n for n, _ in waiting))
        except RuntimeError as error:  # the executor was shut down
            loops.pop(loop)
            for _, future in waiting:
                future.set_exception(error)
            return
        job.add_done_callback(partial(self._served, loop, waiting))

    def _served(self, loop, waiting, job):
        error = _closed() if job.cancelled() else job.exception()
        ids = iter(() if error else job.result())
        for n, future in waiting:
            part = list(islice(ids, n))
            if future.done():
                continue  # it was cancelled, and its IDs are lost
            if error is None:
                future.set_result(part)
            else:
                future.set_exception(error)
        self._serve(loop)


def _count(n):
    if n < 1:
        raise ValueError("flakeward: %r IDs cannot be taken; ask for 1 or more" % (n,))
    return n


class _Session:
    """The stock and the connection of a client in one process. All but stock is for the holder of
    the lock. A signal's handler and a finalizer may run within a call of the thread that holds it:
    what they call does not touch what the holder uses."""

    def __init__(self, path, max_age, timeout, tenant, cluster):
        self.options = path, max_age, timeout, tenant, cluster
        self.path = path
        self.max_age = max_age
        self.timeout = timeout
        self.patience = max(timeout, _PATIENCE)
        self.suffix = () if tenant == "0" else ("TENANT", tenant)
        self.cluster = cluster
        self.forks = len(_forks)
        self.closed = False
        self.lock = threading.RLock()
        self.ended = threading.Lock()  # ends a back-off when it is released
        self.ended.acquire()
        self.loops = weakref.WeakKeyDictionary()  # asyncio calls that wait, by their loop

        # A run is an iterator of IDs, and the time until which they may be handed out. next() takes
        # from stock without the lock, where that is safe. Before another run takes its place, the
        # iterator is at its end, so that nobody gets an ID of a run that was replaced.
        self.stock = self.current = _NOTHING
        self.size = 0  # IDs of the current run when it became that
        self.behind = deque()  # (iterator, until, size, ask): ask for more when this run begins

        self.used = 0  # IDs of the runs before the current one
        self.used_at = 0  # IDs handed out until the last request
        self.asked_at = None  # the time of the last request
        self.rate = 0.0, 1e-9  # IDs and seconds between requests, each counted 3/4 of the next

        self.conn = None
        self.input = bytearray()
        self.pending = None  # (IDs, until, number) of the request whose reply has not come
        self.sends = 0  # requests so far
        self.most = self.most_next = 1  # IDs in a request, and in the next one
        self.worked = False  # the connection has brought a reply
        self.failures = 0  # attempts since the last reply
        self.failure = None  # of the last attempt; None: it connected
        self.retry_at = 0.0  # the time of the next attempt

    # Taking.

    def take(self, n):
        """n IDs, from stock and then from replies."""
        if self.lock._is_owned():  # as threading.Condition asks
            return self.take_apart(n)
        deadline, begun = time.monotonic() + self.timeout, self.sends
        while True:
            # A lock that is acquired with a timeout would stay locked if a signal's handler raised an
            # exception just then. So the holder that has to wait lets others have their turn.
            with self.lock:
                old, until, own = [], math.inf, []
                try:
                    while len(old) + len(own) < n:
                        if not own:
                            until = min(until, self.drain(old, n))
                        if len(old) + len(own) < n:
                            pause = deadline if own else min(deadline, time.monotonic() + _TURN)
                            own += self.fetch(n - len(old) - len(own), begun, pause, deadline)
                except _Late:
                    if time.monotonic() >= deadline:
                        raise self.failure or self.silent() from None
                else:
                    # What is from stock may have grown too old while this call waited.
                    if not own or not old or _now() < until:
                        return old + own
                    continue
                finally:
                    if self.closed:  # perhaps by a signal's handler, which left the rest to this call
                        self.clear()
            time.sleep(0.001)

    def take_apart(self, n):
        """take within another take of the same thread: over a connection of its own."""
        if self.closed:
            raise _closed()
        session = _Session(*self.options)
        try:
            return session.take(n)
        finally:
            session.close()

    def drain(self, into, n):
        """Moves IDs from stock until there are n. Returns until when they may be handed out."""
        limit = math.inf
        while len(into) < n:
            ids, until = self.current
            if _now() < until:
                before = len(into)
                into += islice(ids, n - before)
                if len(into) > before:
                    limit = min(limit, until)
                    continue
            if not self.advance():
                break
        return limit

    def advance(self):
        """Replaces the current run by the next one in stock, if there is one."""
        ids = self.current[0]
        self.used += self.size - length_hint(ids)
        deque(ids, maxlen=0)
        ids, until, size, ask = self.behind.popleft() if self.behind else _NOTHING + (0, False)
        self.size = size
        self.current = ids, until
        if _lock_free:
            self.stock = self.current
        if ask and self.conn is not None and self.pending is None:
            self.ask_ahead()
        return size > 0

    def put(self, runs, until):
        """Adds runs to the stock. The last quarter is a run of its own. More IDs are asked for when
        that run begins."""
        total = sum(map(len, runs))
        before, mark = 0, total - total // 4
        for ids in runs:
            n = len(ids)
            if before < mark < before + n:
                self.behind.append((iter(ids[:mark - before]), until, mark - before, False))
                ids = ids[mark - before:]
            self.behind.append((iter(ids), until, len(ids), before <= mark < before + n))
            before += n

    # Demand.

    def recent(self, now):
        """IDs and seconds between the last requests and until now."""
        ids, seconds = self.rate
        if self.asked_at is None:
            return 0.0, 1e-9
        return ids * 0.75 + self.handed() - self.used_at, seconds * 0.75 + max(now - self.asked_at, 1e-9)

    def handed(self):
        return self.used + self.size - length_hint(self.current[0])

    def wanted(self):
        """How many IDs to ask for: those of half of max_age, and at most twice of what was used
        since the last request. Below 2 there should be no stock."""
        ids, seconds = self.recent(time.monotonic())
        return min(int(ids / seconds * self.max_age / 2 + 0.5), 2 * (self.handed() - self.used_at), self.most_next)

    # Requests.

    def ask_ahead(self):
        """Sends the next request. Its reply is read when there is no stock."""
        n = self.wanted()
        if n < 2:
            return
        try:
            self.send(n)
        except (_Again, RefusedError):
            self.drop()  # whoever finds no stock connects again
        except BaseException:
            self.drop()
            raise

    def fetch(self, need, begun, pause, deadline):
        """Reads one reply. If the request was sent after the call had begun, it returns at most as many
        IDs as are needed, whatever their age. All others become stock. Raises _Late if no reply came
        by pause."""
        while True:
            if self.closed:
                raise _closed()
            wait = min(self.retry_at, pause) - time.monotonic()
            if wait > 0:
                if self.ended.acquire(timeout=wait):
                    self.ended.release()
                continue
            if pause < self.retry_at:
                raise _Late()
            try:
                ids = self.attempt(need, begun, pause, deadline)
                if ids is not None:
                    return ids
            except (_Late, RefusedError):
                raise  # the connection stays
            except _Again as again:
                worked = self.worked
                self.drop()
                if not worked:
                    self.failure = again.error
                    delay = min(_FIRST_DELAY * 2 ** min(self.failures, 16), _LONGEST_DELAY)
                    self.failures += 1
                    self.retry_at = time.monotonic() + delay * random.uniform(0.5, 1)
            except BaseException:
                self.drop()  # what was read may be lost
                raise

    def attempt(self, need, begun, pause, deadline):
        """fetch on one connection. None: the request was refused, and another one will do."""
        if self.pending is not None and time.monotonic() >= self.asked_at + self.patience:
            # The daemon hangs. By now another one may listen.
            raise _Again(_unreachable(self.path, "no answer within %g s" % self.patience))
        if self.conn is None:
            self.connect(deadline)
        if self.pending is None:
            self.send(min(max(need, self.wanted()), self.most_next))
        n, until, number = self.pending
        own = number > begun
        try:
            runs = self.read_runs(n, pause)
        except RefusedError as refusal:
            self.replied()
            if self.lower(refusal, n) or not own:
                return None
            raise
        self.replied()
        got = []
        while own and runs and len(got) < need:
            part = runs[0][:need - len(got)]
            got += part
            runs[0] = runs[0][len(part):]
            if not runs[0]:
                del runs[0]
        self.used += len(got)
        self.put(runs, until)
        return got

    def replied(self):
        self.pending = None
        self.worked, self.failures = True, 0

    def lower(self, refusal, n):
        """Reports whether the daemon has fewer IDs than n. If so, the next request asks for those,
        or each later one does."""
        fewer = _AT_MOST.search(refusal.text)
        if not fewer or not 0 < int(fewer[1]) < n:
            return False
        self.most_next = int(fewer[1])
        if not fewer[2]:
            self.most = self.most_next
        return True

    def silent(self):
        return NoReplyError("TIMEOUT", "the daemon at the socket %s has not answered within %g s; "
                            "`flakeward status --socket` shows its state" % (self.path, self.timeout))

    # The connection.

    def connect(self, deadline):
        by = min(deadline, time.monotonic() + _GREETING)
        self.conn = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.conn.settimeout(max(by - time.monotonic(), 0.001))
            self.conn.connect(self.path)
        except OSError as error:
            unreachable = _unreachable(self.path, error)
            if error.errno in _HOPELESS or "too long" in str(error):
                raise unreachable from None
            raise _Again(unreachable) from None
        try:
            self.write("INFO", "server", "cluster")
            said = dict(line.split(":", 1) for line in self.read_bulk(by).split("\r\n") if ":" in line)
        except _Late:
            if time.monotonic() >= deadline:
                self.drop()  # the greeting may still come
                raise
            raise _Again(_unreachable(self.path, "no greeting within %g s" % _GREETING)) from None
        except RefusedError as refusal:
            self.drop()
            if refusal.text.startswith("too many connections"):  # there may be fewer the next time
                raise _Again(refusal) from None
            raise
        most = said.get("max_count", "")
        if not most.isdigit() or not 0 < int(most) < 1 << 31:
            raise self.strange(b"INFO without max_count")
        self.most = self.most_next = int(most)
        # A connection is of one cluster: a daemon whose cluster becomes another one closes it.
        found = said.get("cluster_id", "")
        if self.cluster and found.lower() != self.cluster.lower():
            where = "is in cluster " + found if found else "has not joined a cluster yet"
            error = ClusterError("CLUSTER", "the daemon at the socket %s %s, and IDs of cluster %s are demanded; "
                                 "name the socket of a daemon of that cluster" % (self.path, where, self.cluster))
            raise error if found else _Again(error)
        self.failure = None

    def drop(self):
        """Ends the connection. What was asked for there is lost."""
        if self.conn is not None:
            self.conn.close()
        self.conn = self.pending = None
        self.input = bytearray()
        self.worked = False

    def send(self, n):
        now = time.monotonic()
        self.rate = self.recent(now)
        self.used_at, self.asked_at = self.handed(), now
        self.most_next = self.most
        until = _now() + self.max_age
        self.write("RUN", str(n), *self.suffix)
        self.sends += 1
        self.pending = n, until, self.sends

    def write(self, *words):
        text = "".join("$%d\r\n%s\r\n" % (len(word), word) for word in words)
        try:
            self.conn.sendall(("*%d\r\n%s" % (len(words), text)).encode())
        except OSError as error:
            try:  # the daemon may have said why it closed the connection
                self.read_line(time.monotonic() + _GREETING)
            except (_Late, _Again):
                pass
            raise _Again(_unreachable(self.path, error)) from None

    def fill(self, deadline):
        """Reads more bytes."""
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise _Late()
        try:
            self.conn.settimeout(remaining)
            more = self.conn.recv(65536)
        except socket.timeout:
            raise _Late() from None
        except OSError as error:
            raise _Again(_unreachable(self.path, error)) from None
        if not more:
            raise _Again(_unreachable(self.path, "the daemon ended the connection"))
        self.input += more

    def read_line(self, deadline):
        """The first line of a reply, which stays in the input. An error reply is raised."""
        while True:
            end = self.input.find(b"\r\n")
            if end >= 0:
                break
            if len(self.input) > _LONGEST_LINE:
                raise self.strange(self.input[:40])
            self.fill(deadline)
        line = bytes(self.input[:end])
        if line.startswith(b"-"):
            del self.input[:end + 2]
            code, _, text = line[1:].decode("utf-8", "replace").partition(" ")
            raise (UnavailableError if code == "UNAVAILABLE" else RefusedError)(code, text)
        return line

    def read_bulk(self, deadline):
        head = self.read_line(deadline)
        size = self.number(head, b"$")
        whole = len(head) + 2 + size + 2
        while len(self.input) < whole:
            self.fill(deadline)
        text = self.input[len(head) + 2:whole - 2].decode("utf-8", "replace")
        del self.input[:whole]
        return text

    def read_runs(self, n, deadline):
        """The reply to RUN n, as ranges. It stays in the input until it is whole."""
        head = self.read_line(deadline)
        count = self.number(head, b"*")
        if count % 2 == 0 or count > 2 * n + 1:
            raise self.strange(head)
        while self.input.count(b"\n") <= count:
            if len(self.input) > 32 * (count + 1):
                raise self.strange(self.input[:40])
            self.fill(deadline)
        lines = bytes(self.input).split(b"\r\n", count + 1)
        if len(lines) != count + 2:
            raise self.strange(self.input[:40])
        self.input = bytearray(lines[-1])
        step, *pairs = [self.number(line, b":") for line in lines[1:-1]]
        firsts, lengths = pairs[::2], pairs[1::2]
        if step < 1 or sum(lengths) != n or 0 in lengths:
            raise self.strange(b" ".join(lines[:-1]))
        if any(first + (length - 1) * step > _HIGHEST for first, length in zip(firsts, lengths)):
            raise self.strange(b"IDs above 2^63-1")
        return [range(first, first + length * step, step) for first, length in zip(firsts, lengths)]

    def number(self, line, kind):
        if line[:1] != kind or not line[1:].isdigit() or len(line) > 20:
            raise self.strange(line)
        return int(line[1:])

    def strange(self, what):
        return ProtocolError("PROTOCOL", "the listener at the socket %s is no flakeward daemon, as it replied %r; "
                             "correct the path" % (self.path, bytes(what[:40]).decode("latin-1")))

    # The end.

    def close(self):
        self.closed = True
        try:
            self.ended.release()
        except RuntimeError:
            pass  # it was closed before
        conn = self.conn
        if conn is not None:
            try:
                conn.shutdown(socket.SHUT_RDWR)  # wakes who reads there
            except OSError:
                pass
        if self.lock._is_owned():
            self.stock = _NOTHING  # and the call of which this is a part does the rest
            return
        with self.lock:
            self.clear()

    def clear(self):
        """Lets go of the stock and the connection of a closed session."""
        self.drop()
        while self.advance():
            pass

    def abandon(self):
        """Lets go of everything in a child. The lock may be held by a thread that is not here."""
        self.closed = True
        if self.conn is not None:
            self.conn.close()  # only here: the parent has the same connection
        for run in (self.stock, self.current, *self.behind):
            deque(run[0], maxlen=0)
        self.stock = self.current = _NOTHING


# A step of an iterator is atomic where one thread at a time runs. Elsewhere next() takes the lock.
_lock_free = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()

_clients = weakref.WeakSet()

# One item for each fork that led to this process. The hook that adds it has no code of Python, so
# nothing comes between: no signal's handler runs before it is done.
_forks = []


def _after_fork():
    for client in list(_clients):
        client._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=partial(_forks.append, None))
    os.register_at_fork(after_in_child=_after_fork)
