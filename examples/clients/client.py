"""Adds an animal exactly once, lists the available animals and fetches the new one. Python 3.9 or later, no packages.

Usage: BASE=http://localhost:8787/v1 KEY=<API key> python3 client.py
"""

import json
import os
import random
import re
import sys
import time
import uuid
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

BASE = urlsplit(os.environ["BASE"])
KEY = os.environ["KEY"]
if not re.fullmatch("[!-~]+", KEY):  # An error about a malformed header would print the key.
    sys.exit("KEY has to be visible ASCII characters.")
ATTEMPTS = 6
LONGEST_WAIT = 120  # seconds that the service may ask for

bookmark = None  # of the last response. The next one then shows at least as much.


class Failure(Exception):
    """A request that failed. `passing` tells whether another attempt may succeed."""

    def __init__(self, message, passing, retry_after=None):
        super().__init__(message)
        self.passing = passing
        # Seconds. A date, which a proxy may send, counts as none.
        self.retry_after = int(retry_after) if (retry_after or "").isdigit() else 0


def send(method, path, body, headers):
    """Sends a request once. Returns the JSON and the headers of the response."""
    global bookmark
    headers = {**headers, "Authorization": f"Bearer {KEY}", **({"x-d1-bookmark": bookmark} if bookmark else {})}
    connect = HTTPSConnection if BASE.scheme == "https" else HTTPConnection
    with closing(connect(BASE.netloc, timeout=30)) as connection:
        try:
            connection.request(method, BASE.path + path, body, headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, HTTPException) as error:
            raise Failure(f"No response: {error!r}", passing=True) from error
    bookmark = response.headers["x-d1-bookmark"] or bookmark
    try:
        content = json.loads(text)  # Python's integers have no size limit.
    except ValueError:
        content = None
    status, received = response.status, response.headers
    if status < 300 and content is not None:
        return content, received

    # Without a code, the response comes from a proxy, or lacks its end.
    error = content if isinstance(content, dict) else {}
    code = error.get("code")
    passing = status in (408, 429, 503) or (code is None and (status < 300 or status >= 500))
    message = error.get("message", "The response does not come from the service.")
    text = f"{status} {code or ''}: {message} Request id: {received['X-Request-Id']}"
    raise Failure(text, passing, received["Retry-After"])


def call(method, path, body=None, headers=()):
    """Sends a request, again after a failure that may pass. A creation needs an Idempotency-Key for this."""
    for attempt in range(ATTEMPTS):
        try:
            return send(method, path, body, dict(headers))
        except Failure as failure:
            if not failure.passing or failure.retry_after > LONGEST_WAIT or attempt == ATTEMPTS - 1:
                sys.exit(str(failure))
            # Longer each time, and by chance, so that clients that failed together do not come back together.
            time.sleep(failure.retry_after + 0.5 * 2**attempt * random.uniform(0.5, 1))


def show(verb, animal):
    print(f"{verb} {animal['id']}: {animal['name']}, category {animal['categoryId']}")


pet = json.dumps({"name": "Pia the Python", "categoryId": 2**63 - 1})
creation = {"Content-Type": "application/json", "Idempotency-Key": str(uuid.uuid4())}
animal, _ = call("POST", "/pets", pet, creation)
show("Added", animal)

FIRST_PAGE = "/pets?status=available&limit=100"
page = FIRST_PAGE
while page:
    animals, received = call("GET", page)
    for listed in animals:
        show("Listed", listed)
    cursor = re.search(r'[?&](cursor=[\w-]+)[^>]*>; rel="next"', received["Link"] or "")
    page = cursor and f"{FIRST_PAGE}&{cursor[1]}"

[fetched], _ = call("GET", f"/pets?id={animal['id']}")
show("Fetched", fetched)
