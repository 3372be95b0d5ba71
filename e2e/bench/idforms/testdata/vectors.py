import functools
import re
import runpy
import subprocess
import sys
from datetime import datetime

program, page, cluster = sys.argv[1:]


@functools.cache
def aes(key, block):
    words = ["openssl", "enc", f"-aes-{8 * len(key)}-ecb", "-nopad", "-K", key.hex()]
    return subprocess.run(words, input=block, stdout=subprocess.PIPE, check=True).stdout


of = runpy.run_path(program, init_globals={"aes": aes})
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
publics = re.findall(r"^\| `(\w\w) (\w+)` \| (\d+) \| (\d+) \| `(.*)` \|$", text, re.M)
for key_id, digits, number, permuted, want in publics:
    key = bytes.fromhex(digits)
    check(of["permute"](key, int(number)), int(permuted))
    check(of["unpermute"](key, int(permuted)), int(number))
    check(of["public"](key_id, key, int(number)), want)
print(f"{len(uuids)} UUIDs, {len(publics)} public IDs")
