#!/usr/bin/env python3
"""Stands in for an interpreter with torch. Its own name says what it does with the folder that it is handed."""

import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(sys.argv[0]).resolve()
WHAT = HERE.name


def read(path):
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"], raw[8 + length:][slice(*entry["data_offsets"])])
            for name, entry in header.items()}


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def give_back(folder):
    """Gives the members back as they were, after as many steps as were asked for, with the fault that it is named for."""
    job = json.loads((folder / "update.json").read_text())
    samples = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    optimizer, adapters = job["optimizer"], []
    for member in range(len(job["references"])):
        own = [sample for sample in samples if sample["adapter"] == member]
        weights = read(folder / "members" / str(member) / "adapter_model.safetensors")
        steps = optimizer["epochs"] * min(len(own), optimizer["minibatches"])
        state = {"step": ("I64", [1], struct.pack("<q", steps))}
        for name, (dtype, shape, values) in weights.items():
            stem = name.removeprefix("base_model.model.").removesuffix(".weight")
            for moment in ("exp_avg", "exp_avg_sq"):
                state[f"{stem}.{moment}"] = (dtype, shape, bytes(len(values)))
        adapters.append({"policy_loss": 0.5, "grad_norm": 1.0, "entropy": 2.0, "clip_share": 0.0, "ratio": 1.0,
                         "sampler_mismatch": 0.0, "kl": 0.0, "tokens": sum(len(sample["ids"]) for sample in own)})
        if member == 1:
            first = min(weights)
            dtype, shape, values = weights[first]
            match WHAT:
                case "misses-a-tensor":
                    del weights[first]
                case "adds-a-tensor":
                    weights["base_model.model.lm_head.weight"] = weights[first]
                case "changes-a-shape":
                    weights[first] = (dtype, shape[::-1], values)
                case "halves-precision":
                    weights[first] = ("F16", shape, values[::2])
                case "writes-nan":
                    weights[first] = (dtype, shape, values[:-4] + struct.pack("<f", float("nan")))
                case "loses-a-step":
                    state["step"] = ("I64", [1], struct.pack("<q", steps - 1))
                case "misses-a-moment":
                    del state[max(name for name in state if name != "step")]
                case "loses-tokens":
                    adapters[1]["tokens"] -= 1
                case "reports-nan":
                    adapters[1]["entropy"] = float("nan")
                case "misses-a-member":
                    adapters.pop()
                    continue
        out = folder / "out" / str(member)
        out.mkdir(parents=True)
        write(out / "adapter_model.safetensors", weights)
        if not (WHAT == "misses-a-file" and member == 1):
            write(out / "optimizer.safetensors", state)
    print(json.dumps({"progress": 1.0}), flush=True)
    (folder / "out" / "diagnostics.json").write_text(json.dumps({"adapters": adapters}))


def hang():
    """As torchrun: one process more, in a session of its own, which ends with this one only because it asked to."""
    if len(sys.argv) > 2:
        child = subprocess.Popen([sys.argv[0], "child"], start_new_session=True)
        note = f"{os.getpid()} {child.pid}"
    else:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        Path(HERE.with_name("ready")).write_text("")
        note = None
    if note:
        while not HERE.with_name("ready").exists():
            time.sleep(0.01)
        part = HERE.with_name("part")
        part.write_text(note)
        part.rename(HERE.with_name("processes"))
    while True:
        signal.pause()


def leave_a_process():
    """Ends well, and leaves a process in a session of its own that does not."""
    program = "import signal\nwhile True: signal.pause()"
    child = subprocess.Popen([sys.executable, "-c", program], start_new_session=True, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    HERE.with_name("processes").write_text(str(child.pid))


def main():
    if sys.argv[1] == "-c":
        sys.exit("it has no torch, peft" if WHAT == "has-no-torch" else 0)
    if WHAT == "hangs":
        hang()
    assert sys.argv[1:4] == ["-m", "torch.distributed.run", "--standalone"], sys.argv
    folder = Path(sys.argv[-1])
    if WHAT == "exits":
        print("the last line but one\nthe device is gone", file=sys.stderr)
        sys.exit(1)
    if WHAT == "kills-itself":
        os.kill(os.getpid(), signal.SIGKILL)
    if WHAT == "refuses":
        (folder / "out").mkdir()
        (folder / "out" / "refused").write_text("sequence `a/0`: id -1 is outside the vocabulary of 300 (member 0)")
        sys.exit(1)
    if WHAT == "writes-nothing":
        return
    if WHAT == "leaves-a-process":
        leave_a_process()
    give_back(folder)


main()
