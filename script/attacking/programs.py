"""Hostile programs in the sandbox, through `lyceum-worker verify`: the same that the verifier's tests run, again and again and
side by side with honest ones."""

import json
import os
import random
import re
import subprocess
import time

from .instance import ROOT

NAME = "programs"
SOURCE = ROOT / "crates/verifier/tests/integration/attacks.rs"
ATTACK = re.compile(r'^    (\w+): (no_effect|ends_in)\(([\w, ]*)\) r#"(.*?)"#;$', re.M | re.S)
ENVIRONMENTS = ROOT / "tests/tests/environments"
PRELUDE = re.compile(r'^const PRELUDE: &str = r#"(.*?)"#;$', re.M | re.S)
# Tasks in one process of the verifier.
BATCH = 60
# Programs that never end keep a slot for this long.
CPU_SECONDS = "1"


def hostile():
    """The programs of the verifier's tests: name, source, and the ways in which it may end."""
    text = SOURCE.read_text()
    prelude = PRELUDE.search(text)[1]
    programs = []
    for name, kind, statuses, body in ATTACK.findall(text):
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        allowed = [status.strip().lower() for status in statuses.split(",")] if kind == "ends_in" else ["ok"]
        programs.append((name, f"{prelude}def f(x):\n{lines}    return None\n", allowed))
    return programs


def honest(number):
    return {
        "id": f"honest {number}",
        "kind": "solve",
        "type": "code_o",
        "program": "def f(x):\n    return sorted(str(x))",
        "input": str(number),
        "answer": repr(sorted(str(number))),
    }


def as_reward(key, source, statuses):
    """The program within a reward: it has an effect, or the reward gives 1."""
    score = "def score(prompt, completion, row):\n    return f(0) is None\n"
    return reward(key, source + score, ""), statuses == ["ok"]


def as_executed(key, source, draw):
    """The program executed by a reward, which gives 1 for printing what is nowhere in the program."""
    score = "def score(prompt, completion, row):\n    return row['secret'] in execute(completion)\n"
    return reward(key, score, source + "print(f(0))\n", secret=str(draw.getrandbits(64))), False


def exported(instance, canary):
    """The reward of an environment whose functions reach for the host, and its row: each function that gets there gives 1."""
    folder = instance.folder / "environment"
    command = [instance.binaries / "lyceum", "environment", "export", folder, "--environment", "hostile"]
    surroundings = {**os.environ, "PYTHONPATH": "site-packages", "PYTHONDONTWRITEBYTECODE": "1", "CANARY": str(canary)}
    subprocess.run(command, cwd=ENVIRONMENTS, env=surroundings, capture_output=True, timeout=60, check=True)
    return (folder / "reward.py").read_text(), json.loads((folder / "rows.jsonl").read_text())


def reward(key, source, completion, **row):
    return {
        "id": key,
        "kind": "reward",
        "source": source,
        "prompt": "",
        "completion": completion,
        "row": row,
        "timeout": int(CPU_SECONDS),
    }


def attack(instance, findings, end, seed):
    programs = hostile()
    findings.holds(NAME, len(programs) > 100, f"only {len(programs)} programs were found in {SOURCE}")
    canary = instance.folder / "canary"
    canary.write_text("alive")
    canary.chmod(0o666)
    draw = random.Random(seed)
    source, row = exported(instance, canary)
    while time.monotonic() < end:
        chosen = draw.choices(programs, k=BATCH)
        tasks, allowed = [reward("environment", source, "", **row)], {"environment": False}
        for at, (name, source, statuses) in enumerate(chosen):
            key = f"{name} {at}"
            form = draw.choice(["program", "reward", "executed"])
            if form == "reward":
                task, allowed[key] = as_reward(key, source, statuses)
            elif form == "executed":
                task, allowed[key] = as_executed(key, source, draw)
            else:
                # `None` is what a program without effect gives.
                task = {"id": key, "kind": "solve", "type": "code_o", "program": source, "input": "0", "answer": "None"}
                allowed[key] = statuses
            tasks.append(task)
            tasks.append(honest(draw.randrange(10**6)))
        judge(instance, findings, tasks, allowed, end)
        findings.holds(NAME, canary.read_text() == "alive", "a program changed a file of the host")


def judge(instance, findings, tasks, allowed, end):
    command = [instance.binaries / "lyceum-worker", "verify", "--jobs", "2", "--cpu-seconds", CPU_SECONDS]
    lines = "".join(json.dumps(task) + "\n" for task in tasks)
    # The last batch may go on after the end, but not for long.
    patience = max(end - time.monotonic(), 0) + 120
    try:
        done = subprocess.run(
            [*command, "--in", "-", "--out", "-"], input=lines, capture_output=True, text=True, timeout=patience, check=False
        )
    except subprocess.TimeoutExpired:
        return findings.breaks(NAME, f"{len(tasks)} tasks took more than {patience:.0f} s")
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode or len(verdicts) != len(tasks):
        said = done.stderr.strip()[-300:]
        return findings.breaks(NAME, f"the verifier ended with {done.returncode} after {len(verdicts)} verdicts: {said}")
    for task, verdict in zip(tasks, verdicts, strict=True):
        name, status = task["id"], verdict["status"]
        if name.startswith("honest"):
            findings.count(NAME, "honest")
            findings.holds(NAME, verdict["correct"] is True, f"an honest answer was judged {status}: {verdict['reason']}")
            continue
        findings.count(NAME, "hostile")
        wanted = allowed[name]
        if task["kind"] == "reward":
            findings.count(NAME, "hostile in a reward")
            findings.holds(NAME, verdict["correct"] is wanted, f"{name} in a reward ended in {status}: {verdict['reason']}")
            continue
        findings.holds(NAME, status in wanted, f"{name} ended in {status}: {verdict['reason']}")
        findings.holds(NAME, verdict["correct"] is (wanted == ["ok"]), f"{name} had an effect: {verdict['reason']}")
