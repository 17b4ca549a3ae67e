"""Creates an animal at each end of the int64 range and reads it back. Python's integers have no size limit.

Usage: python3 int64.py http://localhost:8787/v1 <API key>
"""

import json
import sys
import urllib.request
import uuid

base, key = sys.argv[1:]


def call(method, path, body=None, headers=()):
    request = urllib.request.Request(base + path, method=method, data=body and json.dumps(body).encode())
    request.add_header("Authorization", f"Bearer {key}")
    request.add_header("Content-Type", "application/json")
    for name, value in headers:
        request.add_header(name, value)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


for category_id in (2**63 - 1, -(2**63)):
    # With the key, a retry after a lost response cannot create a second animal.
    idempotency_key = ("Idempotency-Key", str(uuid.uuid4()))
    animal = call("POST", "/pets", {"name": "Edge", "categoryId": category_id}, [idempotency_key])
    assert animal["categoryId"] == category_id, animal
    assert call("GET", f"/pets/{animal['id']}") == animal
    print(animal)
