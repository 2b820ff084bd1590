"""Lyceum on a data folder, for scripts that run experiments."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from datetime import datetime

ROOT = pathlib.Path(__file__).resolve().parent.parent


def say(text):
    print(text, file=sys.stderr, flush=True)


class Lyceum:
    """A Lyceum process on a data folder that outlives it."""

    def __init__(self, programs, data):
        self.programs, self.data = programs, data
        data.mkdir(parents=True, exist_ok=True)
        # Postgres runs as another user, who must be able to enter this folder.
        data.chmod(0o711)

    @classmethod
    def at(cls, url, token):
        """One that somebody else started."""
        found = cls.__new__(cls)
        found.base, found.token = url.rstrip("/"), token
        return found

    def __enter__(self):
        address = self.data / "lyceum/address"
        address.unlink(missing_ok=True)
        log = open(self.data / "log", "ab")
        command = [self.programs / "lyceum", "--data", self.data / "lyceum", "up", "--port", "0"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while not address.exists():
            if self.process.poll() is not None:
                raise SystemExit(f"Lyceum did not start; see {self.data / 'log'}")
            time.sleep(0.1)
        self.base = address.read_text().strip()
        if not self.base.startswith("http"):
            self.base = f"http://{self.base}"
        self.token = (self.data / "lyceum/admin-token").read_text().strip()
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def open(self, path, body=None, headers=()):
        request = urllib.request.Request(self.base + path, data=None if body is None else json.dumps(body).encode())
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/json")
        for name, value in headers:
            request.add_header(name, value)
        try:
            return urllib.request.urlopen(request)
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{path}: {error.read().decode()}") from error

    def ask(self, path, body=None, headers=()):
        return json.load(self.open(path, body, headers))

    def pages(self, path):
        cursor = ""
        while True:
            page = self.ask(f"{path}{'&' if '?' in path else '?'}limit=100{cursor}")
            yield from page["items"]
            if not page.get("next"):
                return
            cursor = f"&cursor={page['next']}"

    def run(self, body, label):
        """Creates a run and waits for its end; says every tenth step."""
        run = self.ask("/api/v1/runs", body, [("Idempotency-Key", label)])["id"]
        shown = -1
        while True:
            state = self.ask(f"/api/v1/runs/{run}")
            if state["step"] // 10 != shown:
                shown = state["step"] // 10
                say(f"{label}: step {state['step']} of {state['steps']}")
            if state["state"] == "completed":
                return state
            if state["state"] in ("failed", "cancelled", "paused"):
                raise SystemExit(f"{label} is {state['state']}: {state.get('error')}")
            time.sleep(1)

    def metrics(self, run):
        """The names of the run's metrics, and for each step its number and their values."""
        names, rows, start = [], [], 0
        while start is not None:
            page = self.ask(f"/api/v1/runs/{run}/metrics?run_alone=true&level=0&from={start}")
            names, start = page["metrics"], page.get("next")
            rows += [[row["step"], *row["mean"]] for row in page["rows"]]
        return names, rows

    def benchmark(self, *command):
        """The output of `lyceum benchmark`."""
        known = {**os.environ, "LYCEUM_URL": self.base, "LYCEUM_TOKEN": self.token}
        done = subprocess.run(
            [self.programs / "lyceum", "benchmark", *command], env=known, check=False, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise SystemExit(f"lyceum benchmark {command[0]} failed: {done.stderr}")
        return done.stdout

    def lines(self, path):
        """The objects of a file of JSON lines."""
        with self.open(path) as answer:
            return [json.loads(line) for line in answer]


def build():
    packages = ["--package", "lyceum-server", "--package", "lyceum-worker"]
    subprocess.run(["cargo", "build", "--release", *packages], cwd=ROOT, check=True)
    metadata = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=ROOT, check=True, capture_output=True
    )
    return pathlib.Path(json.loads(metadata.stdout)["target_directory"]) / "release"


def covered(spans):
    """Seconds in which at least one of the spans of time ran; items of a step are graded side by side.

    >>> at = "2026-01-01T00:00:{:02}Z".format
    >>> covered([(at(8), at(9)), (at(1), at(4)), (at(2), at(3)), (at(3), at(6))])
    6.0
    """
    total, end = 0.0, None
    for start, stop in sorted((datetime.fromisoformat(start), datetime.fromisoformat(stop)) for start, stop in spans):
        start = start if end is None else max(start, end)
        if stop > start:
            total += (stop - start).total_seconds()
            end = stop
    return total


def seconds(start, end):
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
