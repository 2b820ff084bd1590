"""What the documents promise of odd but honest use: rows of any size, rewards with keys, slow uploads, tests that are wrong by
themselves, modules, and a server that restarts after a later release has changed the database."""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess

from .readers import opened

NAME = "promises"
MIGRATION = 99990101


def attack(instance, findings, _end, _seed):
    for promise in (sizes, secrets, places, tests_and_modules, later_release):
        findings.count(NAME, "promises")
        promise(instance, findings)


def imported(instance, name, row):
    path = f"/api/v1/datasets/import?name={name}&purpose=training"
    return instance.ask("POST", path, json.dumps(row).encode(), {"Content-Type": "application/x-ndjson"}, timeout=120)


def sizes(instance, findings):
    """A question has 1 MiB at most; a page of rows ends before it is too large."""
    row = {"task_id": "a", "question": "x" * (2 << 20), "oracle": {"type": "math", "gold": "1"}}
    status, _, body = imported(instance, "one-large-row", row)
    findings.holds(NAME, status == 422 and b"at most 1048576" in body, f"a question of 2 MiB: {status} {body[:200]!r}")


def secrets(instance, findings):
    """A reward with a key is stored only if that is wanted, and can be removed."""
    source = "API_KEY = 'abcd-1234-efgh'\ndef score(prompt, completion, row):\n    return len(API_KEY)\n"
    status, _, body = instance.ask("POST", "/api/v1/rewards", {"source": source})
    findings.holds(NAME, status == 422 and b"API_KEY" in body, f"a reward with a key: {status} {body[:200]!r}")
    status, _, _ = instance.ask("POST", "/api/v1/rewards", {"source": source, "allow_secrets": True})
    findings.holds(NAME, status == 201, f"a reward with a key that is wanted: {status}")
    path = f"/api/v1/rewards/{hashlib.sha256(source.encode()).hexdigest()}"
    statuses = instance.ask("DELETE", path)[0], instance.ask("GET", path)[0]
    findings.holds(NAME, statuses == (204, 410), f"a reward that is removed: {statuses}")


def places(instance, findings):
    """Uploads that trickle in hinder no worker."""
    _, _, body = instance.ask("POST", "/api/v1/tokens", {"name": "promises", "scope": "worker"})
    worker = json.loads(body)["token"]
    head = f"HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {instance.token}\r\n"
    post = "POST /api/v1/datasets/import?name=never&purpose=training&format=gsm8k"
    trickle = f"{post} {head}Content-Type: application/x-ndjson\r\nContent-Length: 900000000\r\n\r\n"
    clients = [opened(instance, trickle + "{") for _ in range(8)]
    path = f"/api/v1/artifacts/{hashlib.sha256(b'weights').hexdigest()}?kind=adapter"
    headers = {"Authorization": f"Bearer {worker}", "Content-Type": "application/octet-stream"}
    status, _, body = instance.ask("PUT", path, b"weights", headers)
    findings.holds(NAME, status == 201, f"an artifact of a worker beside eight uploads: {status} {body[:200]!r}")
    for client in clients:
        client.close()


def tests_and_modules(instance, findings):
    """A test that fails before it calls the program is at fault itself; programs import what machine code there is."""
    program = "import asyncio, bz2, contextvars, lzma, mmap, sqlite3, ssl, unittest.mock\nprint(asyncio.run(asyncio.sleep(0, 5)))\n"
    tasks = [
        {"id": "test", "kind": "tests", "program": "def f(x):\n    return 1", "entry_point": "f", "test": "import hypothesis\nassert f(1) == 1"},
        {"id": "modules", "kind": "tests", "program": program, "pairs": [["", "5\n"]]},
    ]
    command = [instance.binaries / "lyceum-worker", "verify", "--in", "-", "--out", "-"]
    lines = "".join(json.dumps(task) + "\n" for task in tasks)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=120, check=False)
    verdicts = {verdict["id"]: verdict for verdict in map(json.loads, done.stdout.splitlines())}
    test, modules = verdicts.get("test", {}), verdicts.get("modules", {})
    findings.holds(NAME, test.get("status") == "malformed", f"a test that imports what is not there: {test}")
    findings.holds(NAME, modules.get("correct") is True, f"a program that imports modules with machine code: {modules}")


def later_release(instance, findings):
    """A server that is killed after a later release has added to the database comes back."""
    found = shutil.which("psql") or next(map(str, pathlib.Path("/usr/lib/postgresql").glob("*/bin/psql")), None)
    server = instance.children().get("server")
    if found is None or server is None:
        return findings.count(NAME, "left out, no psql")
    values = f"({MIGRATION}, 'of a later release', now(), true, '\\x00', 0)"
    columns = "version, description, installed_on, success, checksum, execution_time"
    execute(instance, found, f"INSERT INTO _sqlx_migrations ({columns}) VALUES {values}")
    try:
        os.kill(server, signal.SIGKILL)
        findings.holds(NAME, instance.until_ready(60), "the server did not come back on a database of a later release")
    finally:
        execute(instance, found, f"DELETE FROM _sqlx_migrations WHERE version = {MIGRATION}")
    return None


def execute(instance, psql, statement):
    socket = (instance.data / "postgres/cluster/postmaster.pid").read_text().splitlines()[4]
    command = [psql, "--host", socket, "--username", "lyceum", "--dbname", "lyceum", "--quiet", "--command", statement]
    subprocess.run(command, timeout=60, check=True)
