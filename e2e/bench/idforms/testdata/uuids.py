import sys
import uuid

read = []
with open(sys.argv[1]) as lines:
    for line in lines:
        number, text = line.split()
        u = uuid.UUID(text)
        if u.version != 7 or u.variant != uuid.RFC_4122 or str(u) != text:
            sys.exit(f"{number}: {text} is read as {u} of version {u.version}, {u.variant}")
        read.append((u.int, u.bytes, int(number)))
for key in 0, 1:
    read.sort(key=lambda r: r[key])
    for before, after in zip(read, read[1:]):
        if before[2] >= after[2]:
            sys.exit(f"the UUIDs of {before[2]} and {after[2]} do not sort like them")
print(f"{len(read)} UUIDs of version 7, sorted as their IDs")
