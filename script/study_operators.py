"""The study of evolution operators: parents that learn a task each, and what their children keep (PopuLoRA, section 4.6).

An experiment with a table `operators`. A row is one seed: a run of two parents and an evaluation of type `operator_retention`.
"""

import json
import shutil
import statistics

import figures
import outcomes
from study_markdown import table, wrapped
from running import ROOT, Lyceum, say
from study import wait

COPY = "copy_parent"
TRAINING = ROOT / "configs/datasets/seedling-training.jsonl"


def is_study(experiment):
    return "operators" in experiment


def run_study(programs, name, experiment, folder, scratch, write):
    for seed in experiment["seeds"]:
        path = folder / f"seed-{seed}.json"
        if not path.exists():
            data = scratch / f"{name}-{seed}"
            write(path, run_seed(programs, data, f"{name}/{seed}", seed, experiment))
            shutil.rmtree(data)


def tasks(spec):
    """Rows of one type after those of another."""
    rows = [json.loads(line) for line in TRAINING.read_text().splitlines()]
    return [row for kind in spec["types"] for row in [row for row in rows if row["type"] == kind][: spec["rows"]]]


def run_seed(programs, data, label, seed, experiment):
    arm, spec = experiment["arms"]["parents"], experiment["operators"]
    overrides = {**arm["overrides"], "benchmarks": None, "seed": seed}
    with Lyceum(programs, data) as lyceum:
        name = overrides["parameters.dataset.name"]
        if name not in {dataset["name"] for dataset in lyceum.pages("/api/v1/datasets")}:
            lyceum.ask("/api/v1/datasets", {"name": name, "purpose": "training", "rows": tasks(spec)})
        run = lyceum.run({"preset": arm["preset"], "name": label, "overrides": overrides}, label)
        body = {
            "type": "operator_retention",
            "parents": [{"run": run["id"], "member": f"solver-{place}"} for place in range(len(spec["types"]))],
            "snapshots": spec["snapshots"],
            "operators": spec["names"],
            "steps": spec["retraining"],
            "every": spec["every"],
            "rows": spec["rows"],
            "n": spec["n"],
        }
        say(f"{label}: children")
        asked = lyceum.ask("/api/v1/evaluations", {"spec": body, "seed": seed}, [("Idempotency-Key", f"{label}/children")])
        found = wait(lyceum, f"/api/v1/evaluations/{asked['id']}", label)["result"]
        return {
            "seed": seed,
            "tasks": [
                {
                    "type": kind,
                    "base": task["base"]["pass_rate"],
                    "parent": [[point["step"], point["pass_rate"]] for point in task["curve"]],
                }
                for kind, task in zip(spec["types"], found["tasks"])
            ],
            "children": [
                {
                    "operator": child["operator"],
                    "snapshot": child["snapshot"],
                    "task": child["task"],
                    "points": [[point["step"], point["pass_rate"]] for point in child["points"]],
                }
                for child in found["children"]
            ],
        }


class Found:
    """The rows of the study."""

    def __init__(self, name, experiment, folder):
        self.name, self.title, self.spec = name, experiment["title"], experiment["operators"]
        paths = [folder / name / f"seed-{seed}.json" for seed in experiment["seeds"]]
        self.rows = [json.loads(path.read_text()) for path in paths if path.exists()]
        self.planned = len(experiment["seeds"])

    def is_there(self):
        return len(self.rows) > 1

    def recovery(self, operator, snapshot, step):
        """Each seed's recovery, the mean over the child's tasks."""
        return [recovery(row, operator, snapshot, step) for row in self.rows]

    def kept(self, operator, snapshot, step):
        """Each seed's recovery as a share of that of an unchanged copy, which learned as long: a parent's own curve at that step."""
        return [recovery(row, operator, snapshot, step) / recovery(row, COPY, snapshot, step) for row in self.rows]

    def level(self, operator, snapshot):
        """Where the interval of what an operator's child keeps after retraining lies: `above` or `below` the level, or `across`."""
        [(_, low, high)] = outcomes.intervals([self.kept(operator, snapshot, self.spec["retraining"])])
        level = self.spec["outcomes"]["recovered"]
        return "above" if low > level else "below" if high < level else "across"

    def operators(self):
        """Those of the claim."""
        return [name for name in self.spec["names"] if name[0] in "MX"]


def recovery(row, operator, snapshot, step):
    """R = (child − base) / (parent − base), the mean over the tasks that the child learned.

    >>> tasks = [{"base": 0.2, "parent": [[0, 0.2], [50, 0.6]]}]
    >>> child = {"operator": "M1", "snapshot": 50, "task": 0, "points": [[0, 0.5], [5, 0.6]]}
    >>> [round(recovery({"tasks": tasks, "children": [child]}, "M1", 50, step), 3) for step in (0, 5)]
    [0.75, 1.0]
    """
    values = []
    for child in row["children"]:
        if (child["operator"], child["snapshot"]) == (operator, snapshot):
            task = row["tasks"][child["task"]]
            gain = dict(task["parent"])[snapshot] - task["base"]
            values.append((dict(child["points"])[step] - task["base"]) / gain)
    return statistics.fmean(values)


def verdict(found, snapshot):
    """For which operators the paper's claim appears at a snapshot."""
    spec = found.spec["outcomes"]
    where = {name: found.level(name, snapshot) for name in found.operators()}
    listed = lambda at: ", ".join(name for name in where if where[name] == at)  # noqa: E731
    if found.level(spec["control"], snapshot) != "below":
        return f"uninformative: a fresh adapter (`{spec['control']}`) is not shown to stay below {spec['recovered']}"
    said = [("appears", "above"), ("is not decided", "across"), ("is refuted", "below")]
    return ", and ".join(f"{what} for {listed(at)}" for what, at in said if listed(at))


def summary(found):
    """The study on less than a screen."""
    spec, name = found.spec, found.name
    lines = [f"### {found.title}", ""]
    if not found.is_there():
        return [*lines, f"`script/results {name}` has no rows yet; `configs/experiments/{name}.toml` says what it is to decide.", ""]
    end, level = spec["retraining"], spec["outcomes"]["recovered"]
    text = (
        f"Claim: “{spec['outcomes']['claim']}” (section 4.6). `script/results {name}`, from `configs/experiments/{name}.toml`:"
        f" {len(found.rows)} of {found.planned} seeds, each with two parents that learned a task each and a child of every operator,"
        f" retrained for {end} steps. Recovery is 0 at the base and 1 at the parent. A child keeps up if its recovery is above {level} of that"
        f" of an unchanged copy, which learned as long (interval of 95 % over seeds), while that of a fresh adapter is below. (Written"
        f" beforehand was a comparison with the parent as it was, which stands still while its copy goes on learning.)"
        f" [Tables](results/{name}/README.md)."
    )
    lines += [*wrapped(text), "", f"![recovery](results/{name}/recovery.svg)", ""]
    return lines + [f"Children of parents after {snapshot} steps: the claim **{verdict(found, snapshot)}**." for snapshot in spec["snapshots"]] + [""]


def details(found):
    """What every operator's children kept and regained, by seed."""
    spec = found.spec
    end, half = spec["retraining"], spec["retraining"] // 2
    lines = [f"# {found.title}", ""]
    text = (
        f"`script/results {found.name}`: {len(found.rows)} of {found.planned} seeds, {spec['rows']} rows of each task, {spec['n']} answers to"
        " each. R is the recovery, the mean over the tasks that a child learned, with its interval of 95 % over seeds."
    )
    lines += [*wrapped(text), "", "![recovery](recovery.svg)", ""]
    rows = []
    for snapshot in spec["snapshots"]:
        cells = []
        for place in range(len(spec["types"])):
            base = statistics.fmean(row["tasks"][place]["base"] for row in found.rows)
            parent = statistics.fmean(dict(row["tasks"][place]["parent"])[snapshot] for row in found.rows)
            cells.append(f"{100 * base:.1f} → {100 * parent:.1f}")
        rows.append([f"after {snapshot} steps", *cells])
    lines += table(["parents", *(f"pass rate on {kind}: base → parent" for kind in spec["types"])], rows)
    rows = []
    for snapshot in spec["snapshots"]:
        for operator in spec["names"]:
            after = found.recovery(operator, snapshot, end)
            cells = [between(found.recovery(operator, snapshot, step)) for step in (0, half, end)]
            kept = between(found.kept(operator, snapshot, end)) if operator != COPY else ""
            rows.append([f"`{operator}`", str(snapshot), *cells, ", ".join(f"{value:.2f}" for value in after), kept])
    return lines + table(["operator", "parents' steps", "R(0): kept", f"R({half})", f"R({end})", f"R({end}) by seed", f"R({end}) of the copy's"], rows)


def between(values):
    [(mean, low, high)] = outcomes.intervals([values])
    return f"{mean:.2f} [{low:.2f}, {high:.2f}]"


def drawings(found):
    """Recovery over steps of retraining at the last snapshot; nothing with fewer than two seeds."""
    if not found.is_there():
        return {}
    snapshot, curves = found.spec["snapshots"][-1], []
    for operator in found.spec["names"]:
        points = []
        for step in range(0, found.spec["retraining"] + 1, found.spec["every"]):
            mean = statistics.fmean(found.recovery(operator, snapshot, step))
            points.append((step, mean, mean, mean))
        curves.append((operator, points, operator[0] not in "MX"))
    text = f"Mean recovery over {len(found.rows)} seeds: 0 is the base and 1 the parent after {snapshot} steps."
    drawn = figures.lines("Recovery of children over retraining", "step of retraining", "recovery", curves, text, is_share=False)
    return {"recovery.svg": drawn}
