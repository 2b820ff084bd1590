"""The instance under attack: a `lyceum up` on a data folder of its own, with its processes."""

import ctypes
import http.client
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18
# Room for artifacts on a disk that can be filled.
DISK = 256 << 20
START = 300


def enter_own_mounts():
    """Gives this process a mount namespace, so that a disk made here is seen by nobody else. True if that fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
        print(f"attack: cannot have mounts of its own: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        return True
    return False


class Instance:
    """Started on entry, stopped and removed on exit."""

    def __init__(self, binaries):
        self.binaries = binaries
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lyceum-attack-", dir="/var/tmp"))
        # Postgres runs as another user, who has to pass through.
        self.folder.chmod(0o711)
        self.data = self.folder / "data"
        self.artifacts = self.folder / "artifacts"
        self.artifacts.mkdir(mode=0o700)
        self.has_disk = os.geteuid() == 0 and self.mount()
        self.clock = Clock(self.folder)

    def mount(self):
        size = f"size={DISK}"
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "attack", str(self.artifacts)], check=False)
        return done.returncode == 0

    def __enter__(self):
        environment = {
            **os.environ,
            "LYCEUM_MODELS": str(ROOT / "models"),
            "LYCEUM_LOG": "warn",
            **self.clock.environment(),
        }
        for name in ("LYCEUM_DATA", "LYCEUM_CONFIG", "LYCEUM_TOKEN", "LYCEUM_URL", "DATABASE_URL"):
            environment.pop(name, None)
        command = [self.binaries / "lyceum", "--data", self.data, "up", "--port", "0", "--artifacts", self.artifacts]
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                command, env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        address = self.data / "address"
        end = time.monotonic() + START
        while not address.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                said = (self.folder / "log").read_text(errors="replace")[-2000:]
                self.remove()
                raise SystemExit(f"attack: Lyceum did not start:\n{said}")
            time.sleep(0.05)
        self.host = address.read_text().strip().removeprefix("http://")
        self.token = (self.data / "admin-token").read_text().strip()
        return self

    def __exit__(self, *_):
        self.clock.jump(0)
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(150)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.remove()

    def remove(self):
        if self.has_disk:
            subprocess.run(["umount", "--lazy", str(self.artifacts)], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, method, path, body=None, headers=None, timeout=60):
        """Status, headers and body of a request."""
        connection = http.client.HTTPConnection(self.host, timeout=timeout)
        try:
            sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **(headers or {})}
            data = json.dumps(body).encode() if isinstance(body, (dict, list)) else body
            connection.request(method, path, body=data, headers=sent)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, path):
        """The JSON at a path; None while it cannot be had."""
        try:
            status, _, body = self.ask("GET", path, headers={"Accept": "application/json"})
            return json.loads(body) if status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def is_ready(self):
        try:
            return self.ask("GET", "/readyz", timeout=60)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def until_ready(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.is_ready():
                return True
            time.sleep(0.2)
        return False

    def children(self):
        """Process ids of what `lyceum up` keeps, by name."""
        found = {}
        for folder in pathlib.Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                status = (folder / "status").read_text()
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"PPid:\t{self.process.pid}\n" not in status:
                continue
            program = words[0].rsplit(b"/", 1)[-1]
            name = {b"postgres": "Postgres", b"lyceum-worker": "worker", b"lyceum": "server"}.get(program)
            if name:
                found[name] = int(folder.name)
        return found

    def resident(self, name):
        """Resident memory of a child in MiB; 0 while it is not there."""
        pid = self.children().get(name)
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return 0
        lines = [line for line in status.splitlines() if line.startswith("VmRSS:")]
        return int(lines[0].split()[1]) / 1024 if lines else 0


class Clock:
    """The wall clock of server and worker, which a small library moves; the machine's own stays as it is."""

    def __init__(self, folder):
        self.offset = folder / "clock"
        self.library = folder / "clock.so"
        self.jump(0)
        self.offset.chmod(0o644)
        source = pathlib.Path(__file__).with_name("clock.c")
        compiler = shutil.which("cc")
        command = [compiler, "-shared", "-fPIC", "-O2", "-o", self.library, source, "-ldl"]
        self.works = bool(compiler) and subprocess.run(command, check=False).returncode == 0

    def environment(self):
        return {"LD_PRELOAD": str(self.library), "ATTACK_CLOCK": str(self.offset)} if self.works else {}

    def jump(self, seconds):
        """Sets the clock off by these seconds. Written in place, because the file is mapped."""
        with open(self.offset, "r+b" if self.offset.exists() else "w+b") as file:
            file.write(struct.pack("=q", seconds))
