"""The rows that studies are measured on and learn from: files in configs/experiment-rows, or chains, each with its SHA-256."""

import hashlib
import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "configs/experiment-rows"
CHAINS = FOLDER.parent / "datasets"


def first(name, count, levels=None):
    """The first rows of a set, or of some levels of it. Types and levels take turns, so that any number has nearly equal shares of them.

    >>> [row["level"] for row in first("outputs", 6)], [row["level"] for row in first("outputs", 3, [2, 4])]
    ([1, 2, 3, 4, 5, 1], [2, 4, 2])
    """
    path = (CHAINS if name.startswith("chains-") else FOLDER) / f"{name}.jsonl"
    digests = dict(reversed(line.split()) for line in (FOLDER / "SHA256SUMS").read_text().splitlines())
    if path.name not in digests:
        known = ", ".join(sorted(file.removesuffix(".jsonl") for file in digests))
        raise SystemExit(f"results: there are no rows `{name}`; there are {known}")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digests[path.name]:
        raise SystemExit(f"results: {path} has changed: its SHA-256 is not the one in SHA256SUMS")
    rows = [json.loads(line) for line in content.splitlines()]
    rows = [row for row in rows if levels is None or row["level"] in levels]
    if len(rows) < count:
        raise SystemExit(f"results: `{name}` has {len(rows)} rows: {count} are too many")
    return rows[:count]


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def of(experiment):
    """All sets that an experiment reads, with the number of rows.

    >>> of({"measure": {"rows": "outputs", "problems": 3}, "training": {"a": {"rows": "level-1", "problems": 2}}})
    {'outputs': 3, 'level-1': 2}
    """
    specs = [(experiment["measure"], "problems")] if "rows" in experiment.get("measure", {}) else []
    specs += [(spec, "problems") for spec in experiment.get("training", {}).values()]
    specs += [(experiment["goalposts"], "candidates")] if "goalposts" in experiment else []
    return {spec["rows"]: spec[count] for spec, count in specs}
