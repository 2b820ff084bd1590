"""Faults while a run is going on: kills, standstills, a full disk, a Postgres without connections, a clock that jumps. After
each the instance comes back by itself; in the end the run is complete, with the rows of one that nobody disturbed."""

import json
import os
import pathlib
import random
import signal
import subprocess
import time

NAME = "faults"
# How long the instance may take to come back, on a machine with other work.
RECOVERY = 120
HOUR = 3600


def run(instance, name, steps):
    """Creates a run on the demo's preset; the same one every time but for its name."""
    overrides = {
        "steps": steps,
        "scheduling.max_attempts": 100,
        "parameters.prompts_per_matchup": 1,
        "parameters.proposals_per_prompt": 2,
        "parameters.samples_per_problem": 4,
    }
    body = {"preset": "demo", "name": name, "overrides": overrides}
    status, _, answer = instance.ask("POST", "/api/v1/runs", body)
    if status != 201:
        raise SystemExit(f"attack: a run cannot be created: {answer.decode()}")
    return instance.get("/api/v1/runs?limit=1")["items"][0]["id"]


def state(instance, run_id):
    return instance.get(f"/api/v1/runs/{run_id}") or {}


def until_completed(instance, findings, run_id, seconds):
    end, was_resumed = time.monotonic() + seconds, False
    while time.monotonic() < end:
        now = state(instance, run_id)
        if now.get("state") == "completed":
            return True
        # Two kills while the server plans a run cannot be told from a run that kills its planner. Its message says what
        # to do, which must be enough now that nothing is killed any more, so once.
        if not was_resumed and now.get("state") == "failed" and (now.get("error") or "").startswith("set aside:"):
            was_resumed = True
            findings.count(NAME, "runs resumed after they were set aside")
            status, _, answer = instance.ask("POST", f"/api/v1/runs/{run_id}/resume")
            if status >= 300:
                findings.breaks(NAME, f"run {run_id} was set aside and cannot be resumed: {status} {answer.decode()}")
                return False
            continue
        if now.get("state") in ("failed", "cancelled"):
            findings.breaks(NAME, f"run {run_id} is {now['state']}: {now.get('error')}")
            return False
        time.sleep(0.5)
    findings.breaks(NAME, f"run {run_id} was not completed {seconds:.0f} s later: {state(instance, run_id).get('state')}")
    return False


def rows(instance, run_id):
    """What the run found out, without ids and times."""
    found = []
    for table, fields in (
        ("problems", ("step", "program", "input", "output", "valid", "solve_rate")),
        ("attempts", ("text", "answer", "correct", "reward")),
    ):
        status, _, body = instance.ask("GET", f"/runs/{run_id}/export/{table}.jsonl", timeout=120)
        if status != 200:
            raise SystemExit(f"attack: {table} cannot be exported: {status} {body[:300]!r}")
        found += sorted(
            json.dumps([table, *(row.get(field) for field in fields)], sort_keys=True)
            for row in map(json.loads, body.splitlines())
        )
    return found


def faults(instance, draw):
    """The faults, each as often as the others, in an order that is drawn anew for every round."""
    kinds = [kill, stand_still, connections, clock]
    kinds += [disk] * instance.has_disk
    while True:
        yield from draw.sample(kinds, k=len(kinds))


def wait_until(moment):
    time.sleep(max(0, moment - time.monotonic()))


def kill(instance, draw, findings, children, _until):
    if not children:
        return
    name = draw.choice(sorted(children))
    try:
        os.kill(children[name], signal.SIGKILL)
        findings.count(NAME, f"kills of {name}")
    except ProcessLookupError:
        pass


def stand_still(instance, draw, findings, children, until):
    pids = draw.sample(sorted(children.values()), k=min(len(children), draw.choice([1, 1, 2])))
    stopped = []
    try:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGSTOP)
                stopped.append(pid)
            except ProcessLookupError:
                pass
        findings.count(NAME, "standstills")
        wait_until(until)
    finally:
        for pid in stopped:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass


def disk(instance, _draw, findings, _children, until):
    """Fills the disk of the artifacts."""
    fill = instance.artifacts / "fill"
    try:
        with open(fill, "wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 20))
    except OSError:
        findings.count(NAME, "full disks")
        wait_until(until)
    finally:
        fill.unlink(missing_ok=True)


def connections(instance, _draw, findings, _children, until):
    """Takes every connection that Postgres has left."""
    folders = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/psql"))
    psql = folders[-1] if folders else "psql"
    socket = instance.data / "postgres/socket"
    held = []
    try:
        for _ in range(120):
            command = [psql, "-h", socket, "-U", "lyceum", "-d", "lyceum", "-qc", "SELECT pg_sleep(30)"]
            held.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        findings.count(NAME, "full Postgres")
        wait_until(until)
    except OSError:
        pass
    finally:
        for process in held:
            process.kill()
        for process in held:
            process.wait()


def clock(instance, draw, findings, _children, until):
    if not instance.clock.works:
        return
    try:
        instance.clock.jump(draw.choice([-HOUR, -60, 60, HOUR]))
        findings.count(NAME, "clock jumps")
        wait_until(until)
    finally:
        instance.clock.jump(0)


def attack(instance, findings, end, seed):
    is_long = end - time.monotonic() > 120
    draw = random.Random(seed)
    disturbed = run(instance, "disturbed", 6 if is_long else 1)
    # Seconds that a fault lasts, and from its end to the next.
    lasts, pause = ((0.5, 4), (1, 4)) if is_long else ((0.5, 1.5), (0.2, 1))
    for fault in faults(instance, draw):
        if time.monotonic() >= end:
            break
        # Does something, waits a little, and takes it back.
        fault(instance, draw, findings, instance.children(), min(end, time.monotonic() + draw.uniform(*lasts)))
        begun = time.monotonic()
        if not instance.until_ready(RECOVERY):
            findings.breaks(NAME, f"the instance was not ready {RECOVERY} s after a fault")
            return
        findings.most(NAME, "slowest return, s", time.monotonic() - begun)
        if instance.process.poll() is not None:
            findings.breaks(NAME, f"`lyceum up` itself ended with {instance.process.returncode}")
            return
        wait_until(min(end, time.monotonic() + draw.uniform(*pause)))
    if not until_completed(instance, findings, disturbed, 900 if is_long else 300):
        return
    findings.count(NAME, "runs completed")
    crashes = (instance.get("/") or {}).get("crashes", [])
    findings.count(NAME, "crashes shown on /", sum(crash["times"] for crash in crashes))
    if is_long:
        calm = run(instance, "undisturbed", 6)
        if until_completed(instance, findings, calm, 900):
            same = rows(instance, disturbed) == rows(instance, calm)
            findings.holds(NAME, same, "the disturbed run has other rows than the undisturbed one")
            findings.count(NAME, "rows compared", len(rows(instance, calm)))
