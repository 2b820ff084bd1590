"""The goalposts of a study: hard problems that nothing solved (GASP, section 3.2), and which of them its arms solve.

An experiment with a table `goalposts` has them made once, before its arms run, and every arm's checkpoints attempt them.
"""

import json

import study_rows
from running import Lyceum, say

# The names of the two datasets with the same rows: to work towards, and to learn from.
GOALPOSTS, TRAINING = "goalposts", "goalposts-training"

# Independent draws of attempts that all fail before a problem counts as a goalpost. After one draw, many that remain are
# problems that were solved too seldom to be solved then.
DRAWS = 3


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def import_rows(lyceum, name, purpose, rows):
    known = {dataset["name"] for dataset in lyceum.pages("/api/v1/datasets")}
    if name not in known:
        lyceum.ask("/api/v1/datasets", {"name": name, "purpose": purpose, "rows": rows})


def every(steps, checkpoints):
    """Steps between `count` checkpoints, the last of them at the end: a union over more checkpoints has more luck, so
    all arms have equally many.

    >>> every(24, 3), every(96, 3)
    (8, 32)
    """
    if steps % checkpoints:
        raise SystemExit(f"results: {steps} steps are not a multiple of {checkpoints}, the checkpoints that attempt goalposts")
    return steps // checkpoints


def attempts(lyceum, dataset, runs, spec, checkpoints, label, wait, seed=0, **own):
    """Lets checkpoints of runs, and their base, attempt a dataset; the evaluation's id."""
    body = {"type": "goalposts", "dataset": dataset, "n": spec["n"], "temperature": spec["temperature"], **own}
    body["runs"] = [{"run": run["id"], "every": every(run["steps"], checkpoints)} for run in runs]
    made = lyceum.ask("/api/v1/evaluations", {"spec": body, "seed": seed}, [("Idempotency-Key", label)])["id"]
    wait(lyceum, f"/api/v1/evaluations/{made}", label)
    return made


def make(programs, data, experiment, path, base, wait):
    """Trains what filters the candidates, one filter after another on what the one before left, and writes the goalposts."""
    spec = experiment["goalposts"]
    with Lyceum(programs, data) as lyceum:
        left = study_rows.first(spec["rows"], spec["candidates"])
        for place, arms in enumerate(spec["filters"]):
            name = f"candidates-{place}"
            import_rows(lyceum, name, "training", left)
            runs = []
            for arm in arms:
                for seed in arm.get("seeds", [1]):
                    label = f"filter {place}: {arm['preset']}, seed {seed}"
                    overrides = {"benchmarks": None, "populations.main.base_model.name": base, **arm["overrides"], "seed": seed}
                    if arm.get("learns_candidates"):
                        overrides["parameters.dataset.name"] = name
                    runs.append(lyceum.run({"preset": arm["preset"], "name": label, "overrides": overrides}, label))
            say(f"{len(left)} candidates: {DRAWS} times {spec['n']} attempts of every checkpoint")
            draw = lambda seed, name: attempts(  # noqa: E731
                lyceum, name, runs, spec, spec["filter_checkpoints"], f"filter {place}, draw {seed}", wait, seed, control=False)
            made = lyceum.ask("/api/v1/goalposts", {"name": f"goalposts-{place}", "evaluations": [draw(seed, name) for seed in range(DRAWS)]},
                              [("Idempotency-Key", f"goalposts {place}")])
            left = [item["row"] for item in lyceum.pages(f"/api/v1/datasets/{made['id']}/rows")]
            say(f"{len(left)} are left")
        if left:
            fresh = lyceum.ask(f"/api/v1/evaluations/{draw(DRAWS, made['name'])}")["result"]["subjects"]
            solved = next(subject["solved"] for subject in fresh if subject["run"] is None)
            say(f"{solved} of {len(left)} are solved by {spec['n']} fresh attempts of the base")
        left = left[: spec["most"]]
        study_rows.write(path, left)


def load(lyceum, path):
    """Gives a Lyceum the goalposts, under both names."""
    rows = rows_of(path)
    import_rows(lyceum, GOALPOSTS, "goalposts", rows)
    import_rows(lyceum, TRAINING, "training", rows)


def solved(lyceum, run, experiment, label, wait):
    """What the checkpoints of a run solved, and the untrained base with as many attempts: places of goalposts with the step at
    which each was first solved."""
    spec = experiment["goalposts"]
    say(f"{label}: {spec['n']} attempts of every checkpoint at each goalpost")
    attempts(lyceum, GOALPOSTS, [run], spec, spec["checkpoints"], f"{label}/goalposts", wait)
    return summary(lyceum.ask(f"/api/v1/runs/{run['id']}/goalposts"))


def summary(found):
    """A map as a study keeps it.

    >>> arm = {"solves": [{"step": 6, "correct": 2, "attempts": 100}], "control": []}
    >>> other = {"solves": [], "control": [{"step": 3, "correct": 1, "attempts": 100}]}
    >>> goalposts = [{"row": 4, "arms": [arm]}, {"row": 7, "arms": [other]}]
    >>> summary({"dataset": {"rows": 9}, "arms": [{"checkpoints": {"attempts": 900}}], "goalposts": goalposts})
    {'problems': 9, 'attempts': 900, 'solved': {4: 6}, 'control': {7: 3}}
    """
    first = lambda side: {  # noqa: E731
        one["row"]: one["arms"][0][side][0]["step"] for one in found["goalposts"] if one["arms"][0][side]
    }
    return {
        "problems": found["dataset"]["rows"],
        "attempts": found["arms"][0]["checkpoints"]["attempts"],
        "solved": first("solves"),
        "control": first("control"),
    }


def values(row, measure):
    """For each goalpost whether the arm (`goalposts`) or its control (`goalposts_control`) solved it.

    >>> values({"goalposts": {"problems": 3, "solved": {"1": 6}, "control": {}}}, "goalposts")
    [0.0, 1.0, 0.0]
    """
    of = row["goalposts"]
    side = {int(place) for place in of["control" if measure.endswith("_control") else "solved"]}
    return [float(place in side) for place in range(of["problems"])]
