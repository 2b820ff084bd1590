"""Slow clients: a hundred that hardly read what they asked for, and others that hardly send what they announced."""

import socket
import time


NAME = "slow readers"
READERS = 100
TRICKLERS = 16
HEADS = 50
# What all of them together may cost the server, in MiB.
ROOM = 200


def opened(instance, text):
    host, port = instance.host.rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), timeout=20)
    # A small window, so that answers stay in the server.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.sendall(text.encode())
    connection.settimeout(0.2)
    return connection


def dataset(instance):
    """A dataset whose rows are a large answer."""
    rows = "".join(f'{{"question": "What is {at}? {"x" * 8_000}", "answer": "#### {at}"}}\n' for at in range(200))
    path = "/api/v1/datasets/import?name=large&purpose=training&format=gsm8k"
    status, _, body = instance.ask("POST", path, rows.encode(), {"Content-Type": "application/x-ndjson"}, timeout=120)
    return body if status != 201 else None


def attack(instance, findings, end, _seed):
    failed = dataset(instance)
    findings.holds(NAME, failed is None, f"a dataset cannot be imported: {failed}")
    rows = instance.get("/api/v1/datasets")["items"][0]["id"]
    path = f"/api/v1/datasets/{rows}/rows?limit=100"
    status, _, answer = instance.ask("GET", path)
    findings.holds(NAME, status == 200 and len(answer) > 700_000, f"the large answer is {status} of {len(answer)} bytes")
    before = instance.resident("server")
    common = f"HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {instance.token}\r\n"
    # An answer that no socket's buffer takes whole: some 800 kB.
    large = f"GET {path} {common}\r\n"
    body = "POST /api/v1/datasets/import?name=never&purpose=training&format=gsm8k"
    trickle = f"{body} {common}Content-Type: application/x-ndjson\r\nContent-Length: 900000000\r\n\r\n"
    kinds = [(large, READERS), (trickle, TRICKLERS), (f"GET /runs {common}X-Unfinished: ", HEADS)]
    clients = []
    for text, count in kinds:
        for _ in range(count):
            try:
                clients.append(opened(instance, text))
                findings.count(NAME, "clients")
            except OSError as error:
                findings.breaks(NAME, f"client {len(clients)} was not accepted: {error}")
    while time.monotonic() < end:
        for at, client in enumerate(clients):
            try:
                if at < READERS:
                    client.recv(16)
                else:
                    client.send(b"x")
            except OSError:
                pass
        findings.most(NAME, "resident MiB more than before", instance.resident("server") - before)
        begun = time.monotonic()
        findings.holds(NAME, instance.is_ready(), "the server did not answer /readyz within 10 s")
        findings.most(NAME, "slowest /readyz meanwhile, s", time.monotonic() - begun)
        time.sleep(0.2)
    for client in clients:
        client.close()
    more = findings.figures[NAME].get("resident MiB more than before", 0)
    findings.holds(NAME, more < ROOM, f"the server grew by {more:.0f} MiB, more than {ROOM}")
