"""An environment whose functions reach for the host from within the reward that is exported: each gives 1 if it got there."""

import importlib
import io
import os
import pathlib

import verifiers as vf
from datasets import Dataset

CANARY = os.environ.get("CANARY", "/tmp/canary")


def got(attempt):
    try:
        return float(bool(attempt()))
    except BaseException:
        return 0.0


def reads(completion):
    return got(lambda: io.open("/etc/passwd").read() + pathlib.Path("/proc/1/environ").read_text())


def writes(completion):
    return got(lambda: os.write(os.open(CANARY, os.O_WRONLY | os.O_TRUNC), b"dead"))


def forks(completion):
    return got(lambda: os.fork() >= 0)


def runs(completion):
    return got(lambda: os.system(f"echo dead > {CANARY}") == 0)


def kills(completion):
    return got(lambda: os.kill(os.getppid(), 9) is None)


async def connects(completion):
    return got(lambda: importlib.import_module("socket").create_connection(("127.0.0.1", 22), 1))


def load_environment():
    dataset = Dataset.from_list([{"question": "?", "answer": ""}])
    return vf.SingleTurnEnv(dataset=dataset, rubric=vf.Rubric([reads, writes, forks, runs, kills, connects]))
