"""Tests of flakeward.py, on stand-ins for a daemon and on the daemon at FLAKEWARD_SOCKET."""
import ast
import asyncio
import builtins
import contextlib
import gc
import os
import pickle
import shutil
import signal
import socket
import tempfile
import threading
import unittest
from unittest import mock

import flakeward

REAL = os.environ["FLAKEWARD_SOCKET"]
GREETING = "max_count:65536\r\ncluster_id:0b7d1c58-6c1c-4b5e-9d1e-6f4f2a7c9b10\r\n"


def bulk(text):
    return "$%d\r\n%s\r\n" % (len(text), text)


class Daemon:
    """A stand-in that answers RUN with the numbers from 1 on. answer(words, number) may return
    another reply. After one that is no whole line the connection ends."""

    def __init__(self, answer=lambda words, number: None):
        self.dir = tempfile.mkdtemp()
        self.path = os.path.join(self.dir, "s")
        self.answer = answer
        self.runs = []  # the counts that were asked for
        self.last = 0
        self.changed = threading.Condition()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(100)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        number = 0
        with contextlib.suppress(OSError):
            while True:
                conn, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(conn, number), daemon=True).start()
                number += 1

    def serve(self, conn, number):
        with conn, contextlib.suppress(OSError), conn.makefile("rb") as requests:
            while True:
                head = requests.readline()
                if not head:
                    return
                words = []
                for _ in range(int(head[1:])):
                    requests.readline()
                    words.append(requests.readline().decode().strip())
                reply = self.answer(words, number)
                cut = reply is not None and not reply.endswith("\r\n")
                if reply is None:
                    reply = bulk(GREETING) if words[0] == "INFO" else self.run(int(words[1]))
                conn.sendall(reply.encode())
                if cut:
                    return

    def run(self, n):
        with self.changed:
            self.runs.append(n)
            first, self.last = self.last + 1, self.last + n
            self.changed.notify_all()
        return "*3\r\n:1\r\n:%d\r\n:%d\r\n" % (first, n)

    def until(self, asked):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.runs) >= asked, 60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        shutil.rmtree(self.dir)


async def anexts(ids, n):
    return [await ids.anext() for _ in range(n)]


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class TestStock(unittest.TestCase):
    def test_source_is_of_python_3_9(self):
        with open(flakeward.__file__) as file:
            ast.parse(file.read(), feature_version=(3, 9))

    def test_an_id_is_no_older_than_max_age(self):
        clock = Clock()
        with mock.patch.object(flakeward, "_now", clock), Daemon() as daemon, \
                flakeward.Client(daemon.path, max_age=3600) as ids:
            while daemon.last < 100:
                self.assertLessEqual(ids.next(), daemon.last)
            asked, issued = len(daemon.runs), daemon.last
            clock.now += 3599.9
            self.assertLessEqual(ids.next(), issued)  # it is from stock
            self.assertEqual(len(daemon.runs), asked)
            clock.now += 0.1
            self.assertGreater(ids.next(), issued)  # what was in stock is discarded
            self.assertGreater(len(daemon.runs), asked)

    def test_a_reply_that_was_asked_for_too_early_is_discarded(self):
        clock = Clock()
        with mock.patch.object(flakeward, "_now", clock), Daemon() as daemon, \
                flakeward.Client(daemon.path, max_age=3600) as ids:
            send, sent = ids._session.send, []
            ids._session.send = lambda n: (sent.append(n), send(n))
            while ids._session.pending is None:
                ids.next()
            asked = len(sent)
            clock.now += 3600
            self.assertGreater(ids.next(), sum(daemon.runs[:asked]))

    def test_without_max_age_each_call_asks(self):
        with Daemon() as daemon, flakeward.Client(daemon.path, max_age=0) as ids:
            self.assertEqual([ids.next() for _ in range(20)], list(range(1, 21)))
            self.assertEqual(daemon.runs, [1] * 20)

    def test_more_is_asked_for_ahead_of_need(self):
        with Daemon() as daemon, flakeward.Client(daemon.path, max_age=3600) as ids:
            ids.take(1000)
            ids.next()  # finds no stock, and fills it
            asked = len(daemon.runs)
            self.assertGreater(daemon.runs[-1], 1000)
            for _ in range(daemon.runs[-1] * 3 // 4 + 1):
                ids.next()
            self.assertTrue(daemon.until(asked + 1))
            self.assertIsNotNone(ids._session.pending)
            self.assertLess(ids.next(), daemon.last - daemon.runs[-1])  # there is stock yet

    def test_take(self):
        with Daemon() as daemon, flakeward.Client(daemon.path, max_age=3600) as ids:
            got = []
            for n in (1, 3, 100_000, 1, 70, 65_536, 200_000):
                part = ids.take(n)
                self.assertEqual(len(part), n)
                got += part + [ids.next()]
            self.assertEqual(got, sorted(set(got)))
            self.assertLessEqual(max(daemon.runs), 65_536)
            with self.assertRaises(ValueError):
                ids.take(0)

    def test_a_lost_reply_costs_ids_and_repeats_none(self):
        for cut in ("", "*3\r\n:1\r\n:1", "*3\r\n:1\r\n:17\r\n:1", "*"):
            def answer(words, number):
                if words[0] == "RUN" and len(daemon.runs) % 5 == 4:
                    daemon.run(int(words[1]))
                    return cut
            with self.subTest(cut), Daemon(answer) as daemon, flakeward.Client(daemon.path) as ids:
                got = [ids.next() for _ in range(300)] + ids.take(100)
                self.assertEqual(got, sorted(set(got)))
                self.assertLessEqual(got[-1], daemon.last)

    def test_steps_and_several_runs(self):
        def answer(words, number):
            if words == ["RUN", "7"]:
                return "*5\r\n:10\r\n:100\r\n:3\r\n:1000\r\n:4\r\n"
        with Daemon(answer) as daemon, flakeward.Client(daemon.path, max_age=0) as ids:
            self.assertEqual(ids.take(7), [100, 110, 120, 1000, 1010, 1020, 1030])

    def test_ids_above_2_to_53_are_exact(self):
        def answer(words, number):
            if words[0] == "RUN":
                return "*3\r\n:1\r\n:9223372036854775806\r\n:2\r\n"
        with Daemon(answer) as daemon, flakeward.Client(daemon.path, max_age=0) as ids:
            self.assertEqual(ids.take(2), [2**63 - 2, 2**63 - 1])

    def test_locked(self):
        with mock.patch.object(flakeward, "_lock_free", False), Daemon() as daemon, \
                flakeward.Client(daemon.path) as ids:
            self.assertEqual(ids._session.stock, flakeward._NOTHING)
            self.check_threads(ids, 2000)
            self.assertEqual(ids._session.stock, flakeward._NOTHING)

    def test_threads(self):
        with flakeward.Client(REAL) as ids:
            self.check_threads(ids, 30_000)

    def test_threads_without_stock(self):
        with flakeward.Client(REAL, max_age=0) as ids:
            self.check_threads(ids, 200)

    def test_a_slow_reply_is_of_all_who_waited_for_it(self):
        turns = threading.Semaphore(0)  # a thread that waited let another one have its turn

        def answer(words, number):
            if words[0] == "RUN":
                for _ in range(5):
                    turns.acquire(timeout=60)
        with mock.patch.object(flakeward, "_TURN", 0.001), Daemon(answer) as daemon, \
                flakeward.Client(daemon.path, max_age=0, timeout=60) as ids, \
                mock.patch.object(flakeward.time, "sleep", lambda _: turns.release()):
            got = []
            workers = [threading.Thread(target=lambda: got.append(ids.next())) for _ in range(4)]
            for w in workers:
                w.start()
            for w in workers:
                w.join()
            self.assertEqual(len(set(got)), 4)
            self.assertLess(len(daemon.runs), 9)

    def check_threads(self, ids, each):
        got = [[] for _ in range(8)]

        def take(into):
            for n in range(each):
                into.append(ids.next())
                if n % 100 == 0:
                    into.extend(ids.take(1 + n % 7))
        workers = [threading.Thread(target=take, args=(into,)) for into in got]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        for one in got:
            self.assertGreaterEqual(len(one), each)
            self.assertEqual(one, sorted(one))
        everything = [id for one in got for id in one]
        self.assertEqual(len(everything), len(set(everything)))


class TestErrors(unittest.TestCase):
    def refuse(self, *replies):
        """A daemon that answers RUN with these first."""
        replies = list(replies)

        def answer(words, number):
            if words[0] == "RUN" and replies:
                return replies.pop(0) + "\r\n"
        return Daemon(answer)

    def test_what_the_daemon_says(self):
        with flakeward.Client(REAL, tenant=16) as ids, self.assertRaises(flakeward.RefusedError) as caught:
            ids.next()
        self.assertEqual(caught.exception.code, "ERR")
        self.assertIn("tenant", caught.exception.text)
        self.assertIn(caught.exception.text, str(caught.exception))

    def test_unavailable(self):
        with self.refuse("-UNAVAILABLE the grant has ended; try again later") as daemon, \
                flakeward.Client(daemon.path) as ids:
            with self.assertRaises(flakeward.UnavailableError) as caught:
                ids.next()
            self.assertEqual((caught.exception.code, caught.exception.text),
                             ("UNAVAILABLE", "the grant has ended; try again later"))
            self.assertEqual(ids.next(), 1)  # on the same connection

    def test_fewer(self):
        more = "-UNAVAILABLE 1000 IDs cannot be had within 2s: at most 300 can now; code=count-too-large"
        with self.refuse(more) as daemon, flakeward.Client(daemon.path) as ids:
            self.assertEqual(len(ids.take(1000)), 1000)
            self.assertEqual(daemon.runs, [300, 700])
        with self.refuse(more.replace(" now", "")) as daemon, flakeward.Client(daemon.path) as ids:
            self.assertEqual(len(ids.take(1000)), 1000)
            self.assertEqual((len(daemon.runs), max(daemon.runs)), (4, 300))

    def test_too_many_connections_is_tried_again(self):
        def answer(words, number):
            if number < 3:
                return "-ERR too many connections\r\n-"
        with Daemon(answer) as daemon, flakeward.Client(daemon.path, timeout=60) as ids:
            self.assertEqual(ids.next(), 1)

    def test_not_allowed(self):
        with Daemon(lambda words, number: "-ERR not allowed: UID 7\r\n-") as daemon, \
                flakeward.Client(daemon.path, timeout=60) as ids, self.assertRaises(flakeward.RefusedError) as caught:
            ids.next()
        self.assertEqual(caught.exception.text, "not allowed: UID 7")
        copy = pickle.loads(pickle.dumps(caught.exception))  # as a pool of processes does
        self.assertEqual((type(copy), str(copy)), (flakeward.RefusedError, "flakeward: ERR: not allowed: UID 7"))

    def test_no_daemon(self):
        with tempfile.TemporaryDirectory() as dir:
            for path, advice in ((dir + "/none", "no such socket"), (dir, "no daemon listens"), (dir + "/" + "x" * 200, "too long")):
                with self.subTest(advice), flakeward.Client(path, timeout=0.02) as ids:
                    for call in (ids.next, lambda: ids.take(5), lambda: asyncio.run(ids.anext())):
                        with self.assertRaises(flakeward.UnreachableError) as caught:
                            call()
                        self.assertIn(advice, caught.exception.text)
                        self.assertIn(path, str(caught.exception))
                        self.assertEqual(caught.exception.code, "UNREACHABLE")

    def test_a_daemon_that_comes_later(self):
        with Daemon() as daemon, flakeward.Client(daemon.path + "2", timeout=60) as ids:
            got = []
            waiting = threading.Thread(target=lambda: got.append(ids.next()))
            waiting.start()
            os.rename(daemon.path, daemon.path + "2")
            waiting.join()
            self.assertEqual(got, [1])

    def test_a_daemon_that_is_silent(self):
        with self.refuse() as daemon, flakeward.Client(daemon.path, timeout=0.05) as ids:
            go = threading.Event()
            daemon.answer = lambda words, number: go.wait(60) and None
            with self.assertRaises(flakeward.NoReplyError) as caught:
                ids.next()
            self.assertEqual(caught.exception.code, "TIMEOUT")
            go.set()
            ids._session.timeout = 60
            self.assertGreaterEqual(ids.next(), 1)

    def test_a_daemon_that_hangs_is_left(self):
        hangs, go = threading.Event(), threading.Event()
        self.addCleanup(go.set)

        def answer(words, number):
            if number == 0 and words[0] == "RUN" and len(daemon.runs) > 0:
                hangs.set()
                go.wait(60)
        with Daemon(answer) as daemon, flakeward.Client(daemon.path, max_age=0, timeout=0.05) as ids:
            self.assertEqual(ids._session.patience, 5)
            ids._session.patience, got = 0.2, [ids.next()]
            for _ in range(200):
                with contextlib.suppress(flakeward.NoReplyError):
                    got.append(ids.next())
                if len(got) == 3:
                    break
            self.assertTrue(hangs.is_set())
            self.assertEqual(got, [1, 2, 3])  # the second connection gave the others

    def test_ids_above_2_to_63(self):
        for reply in ("*3\r\n:1\r\n:9223372036854775807\r\n:2\r\n", "*3\r\n:1\r\n:9223372036854775808\r\n:2\r\n",
                      "*3\r\n:1000000000000000000\r\n:9000000000000000000\r\n:2\r\n"):
            def answer(words, number):
                if words[0] == "RUN":
                    return reply
            with self.subTest(reply), Daemon(answer) as daemon, flakeward.Client(daemon.path, max_age=0) as ids, \
                    self.assertRaisesRegex(flakeward.ProtocolError, r"IDs above 2\^63-1"):
                ids.take(2)

    def test_another_program(self):
        for reply in ("HTTP/1.1 400 Bad Request\r\n", bulk("redis_version:7\r\n")):
            with self.subTest(reply), Daemon(lambda words, number: reply) as daemon, \
                    flakeward.Client(daemon.path) as ids, self.assertRaises(flakeward.ProtocolError):
                ids.next()
        for reply in (":1\r\n", "*2\r\n:1\r\n:2\r\n", "*3\r\n:1\r\n:5\r\n:2\r\n", "*3\r\n:0\r\n:5\r\n:1\r\n",
                      "*3\r\n:1\r\n:+5\r\n:1\r\n", "*3\r\n:1\r\n:-5\r\n:1\r\n", "*5\r\n:1\r\n:5\r\n:1\r\n:9\r\n:0\r\n", "*99999\r\n"):
            def answer(words, number):
                if words[0] == "RUN":
                    return reply
            with self.subTest(reply), Daemon(answer) as daemon, flakeward.Client(daemon.path) as ids, \
                    self.assertRaises(flakeward.ProtocolError):
                ids.next()

    def test_cluster(self):
        mine = "0B7D1C58-6c1c-4b5e-9d1e-6f4f2a7c9b10"
        with Daemon() as daemon:
            with flakeward.Client(daemon.path, cluster=mine) as ids:
                self.assertEqual(ids.next(), 1)
            with flakeward.Client(daemon.path, cluster=mine[:-1] + "1", timeout=60) as ids, \
                    self.assertRaises(flakeward.ClusterError) as caught:
                ids.next()
            self.assertEqual(caught.exception.code, "CLUSTER")
            self.assertIn("is in cluster " + mine.lower(), caught.exception.text)
            self.assertEqual(len(daemon.runs), 1)

        def answer(words, number):
            if words[0] == "INFO" and number < 2:
                return bulk("max_count:10\r\ncluster_id:\r\n")
        with Daemon(answer) as daemon, flakeward.Client(daemon.path, cluster=mine, timeout=60) as ids:
            self.assertEqual(ids.next(), 1)  # it was waited for

    def test_options(self):
        for wrong in ({"path": ""}, {"max_age": -1}, {"max_age": 3601}, {"timeout": 0}, {"tenant": "a b"}, {"tenant": "a\r\nQUIT"}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                flakeward.Client(**wrong)

    def test_close(self):
        with Daemon() as daemon:
            ids = flakeward.Client(daemon.path, timeout=60, max_age=3600)
            ids.take(100)
            ids.next()
            asked, hold = threading.Event(), threading.Event()

            def answer(words, number):
                asked.set()
                hold.wait(60)
            daemon.answer = answer
            errors = []

            def wait():
                try:
                    ids.take(10_000)
                except flakeward.ClosedError as error:
                    errors.append(error)
            waiting = [threading.Thread(target=wait) for _ in range(3)]
            for w in waiting:
                w.start()
            asked.wait(60)
            ids.close()
            ids.close()
            for w in waiting:
                w.join()
            hold.set()
            self.assertEqual(len(errors), 3)
            for call in (ids.next, lambda: ids.take(1), lambda: asyncio.run(ids.anext())):
                with self.assertRaises(flakeward.ClosedError):
                    call()


class TestAsyncio(unittest.TestCase):
    def test_many_tasks(self):
        async def take(ids, n):
            got = []
            for i in range(n):
                got.append(await ids.anext())
                if i % 50 == 0:
                    got += await ids.atake(3)
            return got

        async def main():
            async with flakeward.Client(REAL) as ids:
                return await asyncio.gather(*(take(ids, 100) for _ in range(200)))
        each = asyncio.run(main())
        for got in each:
            self.assertEqual(got, sorted(got))
        everything = [id for got in each for id in got]
        self.assertEqual(len(set(everything)), 200 * 106)
        self.assertEqual(len(everything), 200 * 106)

    def test_two_loops_and_threads(self):
        with flakeward.Client(REAL) as ids:
            got = []

            async def main():
                for _ in range(2000):
                    got.append(await ids.anext())

            def plain():
                for _ in range(2000):
                    got.append(ids.next())
            workers = [threading.Thread(target=asyncio.run, args=(main(),)) for _ in range(2)]
            workers.append(threading.Thread(target=plain))
            for w in workers:
                w.start()
            for w in workers:
                w.join()
            self.assertEqual((len(got), len(set(got))), (6000, 6000))

    def test_cancelled(self):
        asked, hold = threading.Event(), threading.Event()

        def answer(words, number):
            if words[0] == "RUN":
                asked.set()
                hold.wait(60)

        async def main():
            with Daemon(answer) as daemon, flakeward.Client(daemon.path, timeout=60) as ids:
                one, two = asyncio.ensure_future(ids.anext()), asyncio.ensure_future(ids.atake(5))
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(None, asked.wait, 60)
                three = asyncio.ensure_future(ids.anext())  # waits for the next reply
                await asyncio.sleep(0)
                one.cancel()
                hold.set()
                with self.assertRaises(asyncio.CancelledError):
                    await one
                got = [*await two, await three, await ids.anext()]
                self.assertEqual(got, sorted(set(got)))
                three = asyncio.ensure_future(ids.atake(3))
                three.cancel()  # before it began
                self.assertGreater(await ids.anext(), got[-1])
                with self.assertRaises(asyncio.TimeoutError):
                    hold.clear()
                    await asyncio.wait_for(ids.atake(10**6), 0.01)
                hold.set()
                self.assertGreater(await ids.anext(), got[-1])
        asyncio.run(main())

    def test_refused(self):
        async def main():
            async with flakeward.Client(REAL, tenant=16) as ids:
                results = await asyncio.gather(*(ids.anext() for _ in range(3)), return_exceptions=True)
                self.assertEqual([type(r) for r in results], [flakeward.RefusedError] * 3)
                with self.assertRaises(ValueError):
                    await ids.atake(0)
        asyncio.run(main())


class TestFork(unittest.TestCase):
    def child(self, work):
        """Forks a child that writes the IDs of work, and returns a function that reads them."""
        out, into = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(out)
                with open(into, "w") as file:
                    file.write(" ".join(map(str, work())))
                code = 0
            finally:
                os._exit(code)
        os.close(into)

        def result():
            with open(out) as file:
                text = file.read()
            self.assertEqual(os.waitpid(pid, 0)[1], 0)
            return [int(word) for word in text.split()]
        return result

    def test_fork_with_threads(self):
        with flakeward.Client(REAL, max_age=3600) as ids:
            got, stop = [[] for _ in range(4)], threading.Event()

            def take(into):
                while not stop.is_set():
                    into.append(ids.next())
            workers = [threading.Thread(target=take, args=(into,)) for into in got]
            for w in workers:
                w.start()
            try:
                mine, children = [], []

                def work():
                    of_threads = [[] for _ in range(2)]

                    def more(into):
                        into.extend(ids.next() for _ in range(1000))
                    workers = [threading.Thread(target=more, args=(into,)) for into in of_threads]
                    for w in workers:
                        w.start()
                    for w in workers:
                        w.join()
                    grandchild = self.child(lambda: [ids.next() for _ in range(1000)])
                    return [id for one in of_threads for id in one] + ids.take(1000) + grandchild()
                for _ in range(10):
                    mine += [ids.next() for _ in range(1000)]
                    children.append(self.child(work))
            finally:
                stop.set()
                for w in workers:
                    w.join()
            everything = mine + [id for one in got for id in one]
            for child in children:
                ids_of_child = child()
                self.assertEqual(len(ids_of_child), 4000)
                everything += ids_of_child
            self.assertEqual(len(everything), len(set(everything)))

    def forked_within(self, name, at):
        """Forks within a call of a function of the module, which a signal's handler may do."""
        with flakeward.Client(REAL, max_age=3600) as ids:
            ids.take(5000)
            ids.next()
            original = getattr(flakeward, name, None) or getattr(builtins, name)
            state, got = {"calls": 0, "child": None}, []

            def forks(*args, **kwargs):
                result = original(*args, **kwargs)
                state["calls"] += 1
                if state["calls"] == at:
                    state["out"], state["into"] = os.pipe()
                    state["had"] = len(got)
                    state["child"] = os.fork()
                return result
            with mock.patch.object(flakeward, name, forks, create=True):
                try:
                    while len(got) < 20_000:
                        got.append(ids.next())
                except BaseException:
                    if state["child"] == 0:
                        os._exit(1)
                    raise
            if state["child"] == 0:
                os.write(state["into"], b"x")
                with open(state["into"], "w") as file:
                    file.write(" ".join(map(str, got)))
                os._exit(0)
            self.assertIsNotNone(state["child"])
            os.close(state["into"])
            with open(state["out"]) as file:
                child = [int(word) for word in file.read()[1:].split()]
            os.waitpid(state["child"], 0)
            self.assertEqual(len(child), 20_000)
            self.assertEqual(len(set(child)), 20_000)
            self.assertEqual(set(got) & set(child), set(got[:state["had"]]))

    def test_fork_within_the_look_at_the_age(self):
        for at in (1, 2, 5, 9):
            self.forked_within("_now", at)

    def test_fork_while_a_reply_becomes_stock(self):
        for at in (1, 2, 3):
            self.forked_within("length_hint", at)
            self.forked_within("range", at)

    def test_a_fork_whose_hook_is_interrupted(self):
        """Python prints an exception that a signal's handler raises within the hook, and goes on."""
        for taken in (lambda ids: [ids.next() for _ in range(100)], lambda ids: ids.take(100),
                      lambda ids: asyncio.run(anexts(ids, 100))):
            with flakeward.Client(REAL, max_age=3600) as ids:
                for _ in range(20_000):
                    ids.next()
                self.assertGreater(ids._session.size, 0)
                conn = ids._session.conn
                with mock.patch.object(flakeward.Client, "_forked", wraps=ids._forked) as forked:
                    forked.side_effect = [KeyboardInterrupt, mock.DEFAULT]
                    child = self.child(lambda: taken(ids))
                mine = taken(ids)
                self.assertEqual(set(mine) & set(child()), set())
                self.assertIs(ids._session.conn, conn)

    def test_a_closed_client_is_closed_in_a_child(self):
        ids = flakeward.Client(REAL)
        ids.next()
        ids.close()

        def work():
            try:
                return [ids.next()]
            except flakeward.ClosedError:
                return [7]
        self.assertEqual(self.child(work)(), [7])

    def test_the_parents_connection_stays(self):
        with Daemon() as daemon, flakeward.Client(daemon.path, max_age=0) as ids:
            ids.next()
            conn = ids._session.conn
            self.child(lambda: [ids.next(), ids.close()][:1])()
            ids.next()
            self.assertIs(ids._session.conn, conn)


class TestInterrupts(unittest.TestCase):
    def test_an_exception_of_a_signal_loses_the_reply(self):
        class Interrupt(Exception):
            pass

        def interrupt(*_):
            raise Interrupt
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            with flakeward.Client(REAL, max_age=0.001, timeout=60) as ids:
                got, interrupts = [], 0
                while interrupts < 200:
                    try:
                        signal.setitimer(signal.ITIMER_REAL, 0.0001 + 0.000007 * (interrupts % 97))
                        while True:
                            got.extend(ids.take(20_000) if interrupts % 5 == 0 else [ids.next()])
                    except Interrupt:
                        interrupts += 1
                self.assertEqual(len(got), len(set(got)))
                self.assertEqual(got, sorted(got))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


    def test_what_an_interrupted_call_has_read_is_lost(self):
        class Interrupt(Exception):
            pass

        with Daemon() as daemon, flakeward.Client(daemon.path, max_age=0, timeout=5) as ids:
            self.assertEqual(ids.next(), 1)

            def fill(deadline):
                del ids._session.fill
                ids._session.conn.recv(10)
                raise Interrupt
            ids._session.fill = fill
            with self.assertRaises(Interrupt):
                ids.next()
            self.assertEqual(ids.next(), 3)


    def handled(self, handler, until, call):
        """Calls, and has a signal handled while the call waits for the daemon."""
        before = signal.signal(signal.SIGUSR1, lambda *_: handler())
        main = threading.get_ident()

        def send():
            if until():
                signal.pthread_kill(main, signal.SIGUSR1)
        sender = threading.Thread(target=send)
        sender.start()
        try:
            return call()
        finally:
            sender.join()
            signal.signal(signal.SIGUSR1, before)

    def test_a_handler_closes_the_client(self):
        with Daemon() as daemon, flakeward.Client(daemon.path, max_age=3600, timeout=60) as ids:
            for _ in range(4):
                ids.next()
            asked = len(daemon.runs)
            daemon.answer = lambda words, number: hold(daemon, words)
            for call in (lambda: ids.take(1 << 16), ids.next):
                with self.assertRaises(flakeward.ClosedError):
                    self.handled(ids.close, lambda: daemon.until(asked + 1), call)

    def test_a_handler_closes_the_client_between_attempts(self):
        with flakeward.Client("/nowhere/at/all", timeout=60) as ids:
            tried = threading.Event()
            original = ids._session.ended

            class Ended:
                def acquire(self, timeout):
                    tried.set()
                    return original.acquire(timeout=60)
                release = original.release
            ids._session.ended = Ended()
            with self.assertRaises(flakeward.ClosedError):
                self.handled(ids.close, lambda: tried.wait(60), ids.next)

    def test_a_handler_takes_an_id(self):
        with Daemon() as daemon, flakeward.Client(daemon.path, max_age=0, timeout=60) as ids:
            ids.next()
            got, taken = [], threading.Event()

            def answer(words, number):
                if words[0] == "RUN" and number == 0:
                    reply = daemon.run(int(words[1]))
                    self.assertTrue(taken.wait(60))
                    return reply
            daemon.answer = answer

            def handler():
                got.append(ids.next())
                taken.set()
            got.append(self.handled(handler, lambda: daemon.until(2), ids.next))
            got.append(ids.next())
            self.assertEqual(got, [3, 2, 4])


def hold(daemon, words):
    """Counts the request, and never answers it."""
    if words[0] == "RUN":
        daemon.run(int(words[1]))
        threading.Event().wait()


class TestLeaks(unittest.TestCase):
    def test_a_client_that_is_dropped_is_gone(self):
        ids = flakeward.Client(REAL)
        ids.next()
        ids.close()
        del ids
        gc.collect()
        self.assertEqual(len(flakeward._clients), 0)


if __name__ == "__main__":
    unittest.main()
