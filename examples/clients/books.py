"""Keeps a book of every change of an order, by the feed. Run it as often as you like. Python 3.9 or later, no packages.

Usage: BASE=http://localhost:8787/v1 KEY=<API key> BOOK=book.jsonl python3 books.py
"""

import json
import os
import re
import sys
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

BASE, KEY, BOOK = os.environ["BASE"], os.environ["KEY"], os.environ.get("BOOK", "book.jsonl")
TYPES = ["order.placed", "order.shipped", "order.cancelled"]
bookmark = None  # of the last response. The next one then shows at least as much.


def get(path):
    global bookmark
    headers = {"Authorization": f"Bearer {KEY}", **({"x-d1-bookmark": bookmark} if bookmark else {})}
    with urlopen(Request(BASE + path, headers=headers), timeout=30) as response:
        bookmark = response.headers["x-d1-bookmark"] or bookmark
        return json.load(response), response.headers["Link"] or ""  # Python's integers have no size limit.


def feed(cursor):
    return get("/events?" + urlencode({"cursor": cursor, "limit": 100, "type": TYPES}, doseq=True))[0]


def entry(order, version, time):
    animal, status = str(order["petId"]), order["status"]
    return {"order": str(order["id"]), "version": version, "status": status, "animal": animal, "time": time}


def write(entries, cursor):
    """Adds entries and the cursor after them. Without its cursor, a part that a crash left behind does not count."""
    global size
    if os.fstat(book.fileno()).st_size != size:
        sys.exit("Another run writes the book.")
    lines = [json.dumps(line, separators=(",", ":")) for line in [*entries, {"cursor": cursor}]]
    size += book.write("".join(f"{line}\n" for line in lines).encode())
    book.flush()
    os.fsync(book.fileno())


def begin():
    """Writes every order as it is now. What is above `restarted` no longer counts."""
    cursor = feed("latest")["cursor"]
    entries, page = [{"restarted": True}], "/store/orders?include=version&limit=100"
    while page:
        orders, link = get(page)
        entries += [entry(order, order["version"], order["shipDate"] or order["createdAt"]) for order in orders]
        following = re.search(r'[?&](cursor=[\w-]+)[^>]*>; rel="next"', link)
        page = following and f"/store/orders?include=version&limit=100&{following[1]}"
    write(entries, cursor)
    return cursor


book = open(BOOK, "a+b")
book.seek(0)
kept = re.match(rb'(?s)(.*\{"cursor":"([0-9a-f]+)"\}\n)?', book.read())
size = len(kept[0])  # As this run knows the book.
book.truncate(size)
try:
    cursor, more = kept[2].decode() if kept[2] else begin(), True
    while more:
        try:
            page = feed(cursor)
        except HTTPError as error:
            if error.code != 410:
                raise
            bookmark = None  # It belongs to the state before a restore.
            cursor = begin()
            continue
        events, cursor, more = page["events"], page["cursor"], page["more"]
        write([entry(event["data"], event["version"], event["timestamp"]) for event in events], cursor)
except HTTPError as error:
    sys.exit(f"{error.code}: {error.read().decode()}")
except OSError as error:
    sys.exit(f"No response: {error!r}. Run it again.")
