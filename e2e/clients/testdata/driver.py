"""The driver of the Python client: python3 driver.py SOCKET OUTFILE THREADS SECONDS."""
import array
import sys
import threading
import time

import flakeward

path, out, threads, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
ids = flakeward.Client(path)
results = []


def take(number):
    got, times, errors, taken = array.array("Q"), [], 0, 0
    keep, next_id, clock = got.append if out != "-" else None, ids.next, time.perf_counter_ns
    while time.monotonic() < end:
        try:
            if keep:
                for _ in range(999):
                    keep(next_id())
            else:
                for _ in range(999):
                    next_id()
            before = clock()
            id = next_id()
            times.append(clock() - before)
            if keep:
                keep(id)
            taken += 1000
        except flakeward.Error:
            errors += 1
    if keep:
        taken = len(got)
        if sys.byteorder == "little":
            got.byteswap()
        with open("%s.%d" % (out, number), "wb") as file:
            got.tofile(file)
    results.append((taken, times, errors))


begun = time.monotonic()
end = begun + seconds
workers = [threading.Thread(target=take, args=(n,)) for n in range(threads)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
took = time.monotonic() - begun
ids.close()
times = sorted(t for _, some, _ in results for t in some) or [0]
print("FIGURE python threads=%d ids_per_s=%d p99_ns=%d errors=%d" % (
    threads, sum(n for n, _, _ in results) / took, times[len(times) * 99 // 100], sum(e for _, _, e in results)))
