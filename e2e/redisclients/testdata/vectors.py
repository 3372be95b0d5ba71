import re
import runpy
import sys
from datetime import datetime

program, page, cluster = sys.argv[1:]


of = runpy.run_path(program)
UNITS = {"ns": 1, "us": 1000, "ms": 1000_000, "s": 1000_000_000}


def layout(text):
    fields, tick = [], 0
    head, epoch = text.split(";epoch=")
    for field in head.split(","):
        name, width = field.split("=")
        if name == "time":
            width, length = width.split("@")
            number, unit = re.fullmatch(r"(\d+)(\w+)", length).groups()
            tick = int(number) * UNITS[unit]
        fields.append((name, int(width)))
    second, _, decimals = epoch.rstrip("Z").partition(".")
    since = datetime.fromisoformat(second) - datetime(1970, 1, 1)
    return fields, tick, int(since.total_seconds()) * UNITS["s"] + int(decimals.ljust(9, "0"))


def check(got, want):
    if got != want:
        sys.exit(f"{got}, the page says {want}")


text = open(page).read()
uuids = re.findall(r"^\| `(.*;epoch=.*)` \| (\d+) \| `(.*)` \|$", text, re.M)
for words, number, want in uuids:
    check(str(of["to_uuid"](int(number), *layout(words), cluster)), want)
print(f"{len(uuids)} UUIDs")

