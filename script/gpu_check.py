"""The checks of script/gpu-check, one after another within a limit of time: see there.

Everything is measured by the programs of the build; this decides what they are asked, compares, and writes the results.
"""

import argparse
import json
import os
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

# Seconds for all checks together.
LIMIT = 460
PARTS = "correctness,operations,decoding,updates"


def reason(said):
    """Why a program failed, on one line: its error, else the last line that is not of a backtrace.

    >>> reason("using cuda:0\\nerror: libtorch: CUDA out of memory\\nException raised from malloc\\nframe #0: c10::Error\\n")
    'error: libtorch: CUDA out of memory'
    >>> reason("thread 'main' panicked at a.rs:1:2:\\nno luck\\nnote: run with `RUST_BACKTRACE=1`\\n   0: begin\\n      at a.rs:1:2")
    'no luck'
    >>> reason("")
    'no message'
    """
    noise = re.compile(r"frame #|Exception raised from|note: |stack backtrace:|\s+(\d+: |at )|\[W\d+ ")
    lines = [line for line in said.splitlines() if line.strip() and not noise.match(line)]
    errors = [line for line in lines if line.startswith("error: ")]
    return (errors or lines[-1:] or ["no message"])[0]


class Checks:
    """Runs commands, and collects what they give, until time is up."""

    def __init__(self, arguments):
        self.folder = Path(arguments.folder)
        self.device, self.shapes = arguments.device, arguments.shapes.split(",")
        # A CPU tries the script, not the engine: an eighth of the tokens, in what a CPU computes quickly.
        self.dtype, self.part = ("bf16", 1) if self.device == "cuda" else ("fp32", 8)
        self.start = time.monotonic()
        self.limit = arguments.seconds
        self.results = []

    def left(self):
        return self.limit - (time.monotonic() - self.start)

    def run(self, program, *options, environment=None):
        """Runs a program of the build; None and the reason if it fails or time is up."""
        if self.left() < 5:
            return "no time left"
        command = [str(self.folder / program), *map(str, options)]
        print(f"{time.monotonic() - self.start:5.0f} s  {program} {options[0]} …", flush=True)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self.left(), env=environment)
        except subprocess.TimeoutExpired:
            return "no time left"
        if done.returncode != 0:
            return f"exit {done.returncode}: {reason(done.stderr.strip() or done.stdout)}"
        return None

    def lengths(self, prompt, new):
        """Options for the tokens of prompts and answers."""
        return ["--prompt", prompt // self.part, "--new", new // self.part]

    def note(self, group, name, **figures):
        """Keeps a result. `failed` is a reason, or absent."""
        self.results.append({"group": group, "name": name, **figures})
        shown = ", ".join(f"{key} {value}" for key, value in figures.items() if not isinstance(value, dict))
        print(f"{time.monotonic() - self.start:5.0f} s  {group}: {name}: {shown}", flush=True)

    def bench(self, group, name, part, *options, environment=None):
        """Runs a benchmark of the workshop and keeps its figures, which it also returns."""
        out = self.folder / "figures.json"
        out.unlink(missing_ok=True)
        device = ["--device", self.device, "--dtype", self.dtype, "--brief", "--out", out]
        begun = time.monotonic()
        fault = self.run("lyceum-workshop", "bench", part, *device, *options, environment=environment)
        if fault is not None:
            self.note(group, name, **{"skipped" if fault == "no time left" else "failed": fault})
            return None
        figures = json.loads(out.read_text())
        rate, share = figures["tokens_per_second"], figures["of_floor"]
        self.note(group, name, tokens_per_second=round(rate), of_floor=round(share, 3),
                  wall=round(time.monotonic() - begun, 1), figures=figures)
        return figures


def tensors(path):
    """The fp32 tensors of a safetensors file, by name."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    for name, info in sorted(json.loads(data[8:8 + size]).items()):
        if name != "__metadata__":
            start, end = (8 + size + offset for offset in info["data_offsets"])
            yield struct.unpack(f"<{(end - start) // 4}f", data[start:end])


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def completions(path):
    """The ids of each request's completions."""
    return [[completion["ids"] for completion in line["completions"]] for line in lines(path)]


def largest(pairs):
    """The largest difference; not a number if one of them is not, or there are none."""
    apart = [abs(a - b) for left, right in pairs for a, b in zip(left, right)]
    return max(apart) if apart and all(difference == difference for difference in apart) else float("nan")


def requests(long):
    """Prompts of ragged lengths, one of them long, by three members and by the base; eight samples of some prompts."""
    numbers = iter(range(7, 1 << 30, 7919))
    lengths = [3 + 5 * index for index in range(11)] + [long]
    ids = [[next(numbers) % 256 for _ in range(length)] for length in lengths]
    adapter = lambda index: {"adapter": index % 3} if index % 4 else {}
    score = [{"id": str(i), "ids": x, **adapter(i)} for i, x in enumerate(ids)]
    rollout = [{"id": str(i), "ids": x, "n": 8 if i % 2 else 1, "max_tokens": 24, "temperature": 0, "ignore_eos": True,
                **adapter(i)} for i, x in enumerate(ids)]
    update = [{"id": f"{i}/{sample}", "adapter": i % 3, "prompt_ids": x[:-2], "ids": [x[-2]] * (1 + 3 * sample) + [x[-1]],
               "logprobs": [-5.5] * (2 + 3 * sample), "advantage": 1 - sample % 2 * 2}
              for i, x in enumerate(ids) for sample in range(8 if i == 5 else 2)]
    return {"score": score, "rollout": rollout, "update": update}


def correctness(checks):
    """The device against fp32 on the CPU: last logits, greedy tokens, and an update."""
    scratch = checks.folder / "check"
    scratch.mkdir(exist_ok=True)
    for name in ("qwen2-tied", "qwen3-wide-heads"):
        model = checks.folder / "fixtures" / "models" / name
        longest = json.loads((model / "config.json").read_text())["max_position_embeddings"]
        for what, rows in requests(min(longest - 30, 90)).items():
            (scratch / f"{what}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        adapters = [part for index in range(3)
                    for part in ("--adapter", checks.folder / "fixtures" / "adapters" / name / f"all-{index}")]
        faults = {}
        for device, dtype in (("cpu", "fp32"), (checks.device, "fp32"), (checks.device, "bf16")):
            on = ["--model", model, *adapters, "--device", device, "--dtype", dtype]
            to = f"{name}-{'reference' if not faults else 'found'}-{dtype}"
            faults[to] = [
                checks.run("lyceum-worker", "score", *on, "--in", scratch / "score.jsonl", "--last-logits",
                           "--out", scratch / f"{to}-score.jsonl"),
                *(checks.run("lyceum-worker", "rollout", *on, "--in", scratch / "rollout.jsonl", "--share-prompts", shared,
                             "--out", scratch / f"{to}-rollout-{shared}.jsonl")
                  for shared in ("false", "true")),
                checks.run("lyceum-worker", "update", *on, "--in", scratch / "update.jsonl",
                           "--out", scratch / f"{to}-update"),
                checks.run("lyceum-worker", "rollout", *on, "--in", scratch / "rollout.jsonl", "--share-prompts", "false",
                           "--graphs", "false", "--out", scratch / f"{to}-rollout-by-kernel.jsonl"),
            ]
        told = [fault for of_run in faults.values() for fault in of_run if fault]
        if told:
            checks.note("correctness", name, **{"skipped" if told[0] == "no time left" else "failed": told[0]})
            continue
        reference = f"{name}-reference-fp32"
        for dtype, allowed, in_update in (("fp32", 1e-3, 2e-5), ("bf16", 0.5, None)):
            found = f"{name}-found-{dtype}"
            pairs = zip(lines(scratch / f"{reference}-score.jsonl"), lines(scratch / f"{found}-score.jsonl"))
            apart = largest((a["last_logits"], b["last_logits"]) for a, b in pairs)
            judge(checks, f"{name} {dtype}, largest difference of last logits", apart, allowed)
            by_graph, by_kernel = (lines(scratch / f"{found}-rollout-{how}.jsonl") for how in ("false", "by-kernel"))
            other = sum(a != b for a, b in zip(by_graph, by_kernel, strict=True)) / len(by_kernel)
            judge(checks, f"{name} {dtype}, share of results that CUDA graphs change", other, 0)
            if in_update is None:
                continue
            # Two tokens can have equal probability up to rounding, so a few sequences may diverge.
            expected = completions(scratch / f"{reference}-rollout-false.jsonl")
            for shared, how in (("true", "shared"), ("false", "copied")):
                got = completions(scratch / f"{found}-rollout-{shared}.jsonl")
                other = sum(a != b for a, b in zip(expected, got, strict=True)) / len(expected)
                judge(checks, f"{name} {dtype}, prompts {how}, share whose greedy completions differ", other, 0.1)
            # AdamW's first step has the size of the learning rate, 1e-4 here, unless the gradient is nearly 0.
            files = [[scratch / f"{side}-update" / member / "adapter_model.safetensors" for side in (reference, found)]
                     for member in "012"]
            apart = max(largest(zip(tensors(left), tensors(right))) for left, right in files)
            judge(checks, f"{name} {dtype}, largest difference of adapters after a step", apart, in_update)


def judge(checks, what, found, allowed):
    fault = {} if found <= allowed else {"failed": f"{found:.1e} is more than {allowed}"}
    checks.note("correctness", what, found=float(f"{found:.2e}"), allowed=allowed, **fault)


def operations(checks):
    """Single operations that the engine relies on, with what it did before: in libtorch from Python."""
    if checks.device != "cuda":
        checks.note("operations", "all", skipped="not on a GPU")
        return
    import torch
    torch.manual_seed(1)

    def timed(compute):
        compute()
        torch.cuda.synchronize()
        begun = time.monotonic()
        for _ in range(5):
            compute()
        torch.cuda.synchronize()
        return round((time.monotonic() - begun) / 5 * 1e3, 3)

    rows, width, vocabulary = 256, 3584, 152_064
    hidden = torch.randn(rows, width, device="cuda", dtype=torch.bfloat16)
    head = torch.randn(vocabulary, width, device="cuda", dtype=torch.bfloat16)
    exact = hidden.float() @ head.float().t()
    wide, narrow = torch.mm(hidden, head.t(), out_dtype=torch.float32), (hidden @ head.t()).float()
    off = [(logits - exact).abs().max().item() for logits in (wide, narrow)]
    fault = {} if off[0] <= off[1] else {"failed": "logits in fp32 are farther off than in bf16"}
    checks.note("operations", "logits in fp32 against bf16", off=round(off[0], 4), off_bf16=round(off[1], 4),
                ms=timed(lambda: torch.mm(hidden, head.t(), out_dtype=torch.float32)),
                ms_bf16=timed(lambda: (hidden @ head.t()).float()), **fault)
    left, right = (torch.randn(8, n, 2048, device="cuda", dtype=torch.bfloat16) for n in (32, width))
    wide = torch.bmm(left, right.transpose(1, 2), out_dtype=torch.float32)
    exact = torch.bmm(left.float(), right.float().transpose(1, 2))
    checks.note("operations", "sums of gradients in fp32", off=round((wide - exact).abs().max().item(), 4),
                ms=timed(lambda: torch.bmm(left, right.transpose(1, 2), out_dtype=torch.float32)),
                ms_bf16=timed(lambda: torch.bmm(left, right.transpose(1, 2))))
    logits = torch.randn(rows, vocabulary, device="cuda")
    checks.note("operations", "1,024 candidates against a whole sort", ms=timed(lambda: logits.topk(1024, -1)),
                ms_sort=timed(lambda: logits.sort(-1, descending=True)))
    # The programs need the memory.
    del hidden, head, exact, wide, narrow, left, right, logits
    torch.cuda.empty_cache()


def decoding(checks):
    """Decoding alongside the floor of the card: sizes, cuts, samples of a prompt, ragged and long sequences, members."""
    usual = ["--repeats", 2, *checks.lengths(128, 128)]
    for shape in checks.shapes:
        for sequences in (64, 512):
            checks.bench("decoding", f"{shape}, {sequences} sequences", "rollout", "--shape", shape,
                         "--sequences", sequences, *usual)
    shape = checks.shapes[-1]
    at = ["--shape", shape, "--sequences", 64, *usual]
    without = dict(os.environ, TORCH_CUDNN_SDPA_DEPRIORITIZED="0")
    checks.bench("decoding", f"{shape}, without CUDA graphs", "rollout", *at, "--graphs", "false")
    checks.bench("decoding", f"{shape}, cuDNN's attention first", "rollout", *at, environment=without)
    checks.bench("decoding", f"{shape}, top-p 0.95 and top-k 40", "rollout", *at, "--top-p", 0.95, "--top-k", 40)
    long = ["--shape", shape, "--sequences", 64, "--repeats", 2, *checks.lengths(2000, 100)]
    for tokens, options in (("256", at), ("2,100", long)):
        for shared, how in (("true", "shared"), ("false", "copied")):
            checks.bench("decoding", f"{shape}, {tokens} tokens, eight samples of a prompt, {how}", "rollout", *options,
                         "--samples", 8, "--share-prompts", shared)
    checks.bench("decoding", f"{shape}, ragged", "rollout", *at, "--ragged", "--samples", 8)
    checks.bench("decoding", f"{shape}, 2,100 tokens, ragged", "rollout", *long, "--ragged", "--samples", 8)
    # Members against one at equal work: at most 1.25 times what the card itself needs more.
    pairs = [checks.bench("members", f"{shape}, {members} members, 24 sequences each", "rollout", "--shape", shape,
                          "--members", members, "--sequences", 24 * members, *usual) for members in (1, 8)]
    if all(pairs):
        ratio = pairs[1]["step_ms"] / pairs[0]["step_ms"] / (pairs[1]["step_floor_ms"] / pairs[0]["step_floor_ms"])
        fault = {} if ratio <= 1.25 else {"failed": "more than 1.25"}
        checks.note("members", "8 against 1, relative to the floors", ratio=round(ratio, 3), **fault)


def updates(checks):
    """Updates alongside the floor: ragged and long sequences, eight samples a prompt, with and without each switch."""
    for shape in checks.shapes:
        at = ["--shape", shape, "--repeats", 2, "--micro-batch-tokens", 16384, "--recompute"]
        ragged = [*at, "--sequences", 64, *checks.lengths(600, 1500), "--samples", 8, "--ragged"]
        checks.bench("updates", f"{shape}, 256 tokens each", "update", *at, "--sequences", 128, *checks.lengths(128, 128))
        checks.bench("updates", f"{shape}, ragged to 2,100 tokens", "update", *ragged)
        if shape != checks.shapes[-1]:
            continue
        checks.bench("updates", f"{shape}, ragged, padded to the longest", "update", *ragged, "--padding", "longest")
        checks.bench("updates", f"{shape}, ragged, 2^24 logits", "update", *ragged, "--logits", 1 << 24)
        checks.bench("updates", f"{shape}, ragged, prompts not shared", "update", *ragged, "--without-sharing")


def page(checks, card):
    """One page of text."""
    text = [f"GPU check on {card}", f"{time.monotonic() - checks.start:.0f} s of {checks.limit} s", ""]
    for result in checks.results:
        figures = {key: value for key, value in result.items() if key not in ("group", "name", "figures")}
        outcome = "FAILED" if "failed" in figures else "skipped" if "skipped" in figures else "ok"
        shown = ", ".join(f"{key} {value}" for key, value in figures.items())
        text.append(f"{outcome:8}{result['group']}: {result['name']}: {shown}")
    counts = [sum(word in result for result in checks.results) for word in ("failed", "skipped")]
    text += ["", f"{len(checks.results)} results, {counts[0]} failed, {counts[1]} skipped"]
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--shapes", default="qwen2.5-0.5b,qwen2.5-7b")
    parser.add_argument("--seconds", type=float, default=LIMIT)
    parser.add_argument("--card", default="unknown")
    parser.add_argument("--parts", default=PARTS)
    arguments = parser.parse_args()
    checks = Checks(arguments)
    # What matters most comes first, so that what is skipped for want of time matters least.
    for part in (correctness, operations, decoding, updates):
        if part.__name__ in arguments.parts.split(","):
            part(checks)
    report = {"card": arguments.card, "seconds": round(time.monotonic() - checks.start, 1), "results": checks.results}
    (checks.folder / "gpu-check.json").write_text(json.dumps(report, indent=1) + "\n")
    text = page(checks, arguments.card)
    (checks.folder / "gpu-check.txt").write_text(text)
    print("\n" + text)
    sys.exit(any("failed" in result for result in checks.results))


if __name__ == "__main__":
    main()
