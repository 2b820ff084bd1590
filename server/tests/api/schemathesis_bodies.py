"""How Schemathesis writes bodies that it has no form for: JSON lines, one value a line."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    values = value if isinstance(value, list) else [value]
    return "".join(json.dumps(line) + "\n" for line in values).encode()
