"""Hostile requests: templates, overrides, documents, queries and headers that are deep, long, wrong or nothing at all. No
answer may be a 5xx (but 503, which says to come back), none may take long, and the server must go on answering others."""

import http.client
import json
import random
import threading
import time
import tomllib
import urllib.parse

from .instance import ROOT

NAME = "requests"
SENDERS = 4
# Seconds that an answer may take on a machine that is under attack.
PATIENCE = 60
ODD = ["\u0000", "\u202e", "\x1b[31m", "../../../../etc/passwd", "' OR 1=1 --", "{{ 7*7 }}", "💥" * 50, "%00", "-1", "1e999", "A" * 5000]


def templates(draw):
    deep = draw.choice([10, 100, 8_000, 60_000])
    return draw.choice(
        [
            lambda: f"{{{{ {'not ' * deep}program }}}}",
            lambda: f"{{{{ {'-' * deep}1 }}}}",
            lambda: f"{{{{ program{'.a' * deep} }}}}",
            lambda: f"{{{{ program{'|abs' * deep} }}}}",
            lambda: f"{{{{ {'1 ** ' * deep}1 }}}}",
            lambda: f"{{{{ {'1 ~ ' * deep}1 }}}}",
            lambda: "{% if 0 %}{{ " + "[" * deep + "1" + "]" * deep + " }}{% endif %}",
            lambda: "{{ range(10)|slice(100000000) }}",
            lambda: "{{ range(1000000000)|list }}",
            lambda: "{% set a = program %}" + "{% set a = a ~ a %}" * min(deep, 60),
            lambda: "{% for a in range(9999) %}" * 5 + "x" + "{% endfor %}" * 5,
            lambda: "{% macro m(n) %}{{ m(n) }}{% endmacro %}{{ m(1) }}",
            lambda: "{{ '%0*d' % (99999999, 1) }}",
            lambda: "{{ program|center(999999999) }}",
            lambda: "{{" * deep,
            lambda: draw.choice(ODD),
        ]
    )()


def nested(draw, depth):
    return draw.choice(['{"a":' * depth + "1" + "}" * depth, "[" * depth + "]" * depth, "[" * depth])


def creation(draw, config):
    """The body of a new run, wrong in some way."""
    kind = draw.randrange(6)
    if kind == 0:
        changed = json.loads(json.dumps(config))
        role = draw.choice(["solve_code_o", "propose_code_o", draw.choice(ODD)])
        changed["parameters"]["prompts"] = {"set": "seedling", "templates": {role: templates(draw)}}
        return json.dumps({"config": changed})
    if kind == 1:
        count = draw.choice([1, 100, 1_000, 20_000])
        return json.dumps({"preset": "demo", "overrides": {f"unknown{at}.x": at for at in range(count)}})
    if kind == 2:
        path = ".".join(["a"] * draw.choice([2, 31, 33, 20_000]))
        return json.dumps({"preset": "demo", "overrides": {path: draw.choice(ODD)}})
    if kind == 3:
        return f'{{"preset": "demo", "overrides": {nested(draw, draw.choice([5, 127, 129, 50_000]))}}}'
    if kind == 4:
        field = draw.choice(["steps", "seed", "recipe", "populations.main.base_model.name", "parameters.samples_per_problem"])
        value = draw.choice([*ODD, -1, 2**63, 1e308, None, [], {}, "x" * 500_000])
        return json.dumps({"preset": "demo", "overrides": {field: value}})
    return draw.choice(["", "null", "{}", "[]", "\ufeff{}", '{"preset": "demo", "preset": "demo"}', "{" * 1_000_000])


def request(draw, paths, config):
    """Method, path, body and headers. Runs are only checked, never made, except by what must be refused."""
    kind = draw.randrange(10)
    if kind < 5:
        return "POST", "/api/v1/runs?dry_run=true", creation(draw, config).encode("utf-8", "surrogatepass"), {}
    if kind < 8:
        path, method = draw.choice(paths)
        while "{" in path:
            before, _, rest = path.partition("{")
            odd = draw.choice([*ODD, "00000000-0000-7000-8000-000000000000", "0"])
            path = before + urllib.parse.quote(odd[:500], safe="") + rest.partition("}")[2]
        names = ["limit", "cursor", "state", "search", "from", "to", "order", "sort", draw.choice(ODD)[:100]]
        query = [(draw.choice(names), draw.choice(ODD)) for _ in range(draw.randrange(4))]
        body = draw.choice([None, b"{}", b"[]", b"\xff\xfe", nested(draw, 500).encode()])
        return method, f"{path}?{urllib.parse.urlencode(query)}"[:60_000], body, {}
    if kind == 8:
        header = draw.choice(["Authorization", "If-None-Match", "Idempotency-Key", "Accept", "Cookie", "Last-Event-ID"])
        value = "".join(chr(draw.randrange(32, 127)) for _ in range(draw.choice([1, 300, 5_000])))
        return "GET", draw.choice(["/", "/runs", "/api/v1/runs", "/problems"]), None, {header: value}
    words = urllib.parse.quote(draw.choice(ODD)[:2_000])
    return "GET", draw.choice([f"/runs?name={words}", f"/problems?words={words}", f"/{words}", f"/runs/{words}.json"]), None, {}


def described(instance):
    """Paths and methods of the API's description, without what would end the attack itself or makes what is not asked for."""
    document = instance.get("/api/v1/openapi.json") or {"paths": {}}
    known = [(path, method.upper()) for path, methods in document["paths"].items() for method in methods]
    return [(path, method) for path, method in known if "/tokens" not in path and "/events" not in path]


def attack(instance, findings, end, seed):
    paths = described(instance)
    findings.holds(NAME, len(paths) > 30, "the API's description cannot be read")
    config = tomllib.loads((ROOT / "configs/runs/demo.toml").read_text())
    senders = [
        threading.Thread(target=send, args=(instance, findings, end, random.Random(seed * 1000 + at), paths, config))
        for at in range(SENDERS)
    ]
    for sender in senders:
        sender.start()
    while time.monotonic() < end and paths:
        begun = time.monotonic()
        is_ready = instance.is_ready()
        findings.most(NAME, "slowest /readyz meanwhile, s", time.monotonic() - begun)
        findings.holds(NAME, is_ready, "the server did not answer /readyz within 10 s")
        time.sleep(0.5)
    for sender in senders:
        sender.join()


def send(instance, findings, end, draw, paths, config):
    while time.monotonic() < end and paths:
        method, path, body, headers = request(draw, paths, config)
        what = f"{method} {path[:100]} {(body or b'')[:100]!r}"
        begun = time.monotonic()
        try:
            status, _, _ = instance.ask(method, path, body, headers, timeout=PATIENCE)
        except TimeoutError:
            findings.breaks(NAME, f"no answer within {PATIENCE} s: {what}")
            continue
        except (OSError, http.client.HTTPException, ValueError):
            # A server may close a connection over what is no HTTP.
            findings.count(NAME, "closed")
            continue
        findings.count(NAME, f"{status // 100}xx")
        findings.most(NAME, "slowest answer, s", time.monotonic() - begun)
        findings.holds(NAME, status < 500 or status == 503, f"{status}: {what}")
