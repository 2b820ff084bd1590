"""Studies: arms whose solvers answer the same held-out problems at checkpoints, and the evidence that follows.

Its experiment has a table `measure`. A row is one seed of one arm. Of its `outcomes`, those with `primary = true` must hold
together (Holm), and without those with `control = true`, the positive controls, nothing that did not appear means anything. An
outcome that cannot fail by the rows, such as that a count which never falls rises, is refused. `declared_later = true` marks one that
was written down when other arms had run.
"""

import json
import os
import pathlib
import shutil
import statistics
import time
from datetime import datetime, timezone

import outcomes
import study_goalposts
import study_rows
from running import ROOT, Lyceum, say

# The suite that is asked, unless the experiment's `measure.suite` says otherwise.
SUITE = "held-out-seedling"
MATHEMATICS = "held-out-seedling-math"
# Types of the problems of code, unless `measure.types` says otherwise.
TYPES = ["code_o", "code_i", "code_f"]
# Levels of difficulty, unless `measure.levels` says otherwise.
LEVELS = [1, 2, 3, 4, 5]
# Roles whose answers count, by recipe.
SOLVING = {"populora": "student", "azr": "solver", "rlvr": "solver", "rzero": "solver", "sage": "solver",
           "gasp": "student"}
# Settings are chosen on up to this many other problems.
DEVELOPMENT = 300
# Temperatures at which the base's entropy is measured, to find the one at which it equals that of a trained arm.
TEMPERATURES = [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2]
# Answers to each problem for that.
PROBES = 4


def base_of(experiment):
    return experiment.get("base", "seedling")


def check_base(name, experiment):
    """Refuses a study whose base is not there, before anything is built or run."""
    models = pathlib.Path(os.environ.get("LYCEUM_MODELS", ROOT / "models"))
    if not (models / base_of(experiment)).exists():
        raise SystemExit(
            f"results: {name} needs the base `{base_of(experiment)}`, which is not in {models}: docs/SEEDLING.md says which commit makes"
            " a small base, and script/real-model fetches a pretrained one (name its folder in LYCEUM_MODELS)"
        )


def suite_of(experiment):
    return experiment["measure"].get("suite", SUITE)


def problems(experiment, path, development):
    """Writes the study's problems, or other ones to choose settings on."""
    count, types = experiment["measure"]["problems"], experiment["measure"].get("types", TYPES)
    levels = experiment["measure"].get("levels", LEVELS)
    groups = len(levels) * (1 if suite_of(experiment) == MATHEMATICS else len(types))
    if count % groups:
        raise SystemExit(f"results: measure.problems is {count}: a multiple of {groups} is valid (levels and types get equal shares)")
    name = experiment["measure"]["rows"]
    if development:
        name, count = f"{name}-development", min(count, DEVELOPMENT)
    study_rows.write(path, study_rows.first(name, count, experiment["measure"].get("levels")))


class Measuring:
    """Evaluations on a study's problems by a running Lyceum."""

    def __init__(self, lyceum, rows, experiment, seed):
        self.lyceum, self.measure, self.seed = lyceum, experiment["measure"], seed
        self.suite = suite_of(experiment)
        known = {dataset["name"]: dataset["id"] for dataset in lyceum.pages("/api/v1/datasets")}
        self.dataset = known.get("study") or lyceum.benchmark("import", self.suite, rows, "--name", "study").strip()

    def answers(self, label, rows=None, n=1, temperature=0.0, prompts=None, **spec):
        """What each subject answered: its name, correct answers by problem, mean length, and entropy by token."""
        suite = {"suite": self.suite, "dataset": self.dataset, "n": n, "temperature": temperature}
        # A pretrained model is asked in its own way.
        suite |= {field: self.measure[field] for field in ("prompts", "max_tokens") if field in self.measure}
        if prompts is not None:
            suite["prompts"] = prompts
        if rows is not None:
            suite["rows"] = rows
        body = {"spec": {"type": "benchmark", "suites": [suite], **spec}, "seed": self.seed}
        evaluation = self.lyceum.ask("/api/v1/evaluations", body, [("Idempotency-Key", label)])["id"]
        wait(self.lyceum, f"/api/v1/evaluations/{evaluation}", label)
        results = list(self.lyceum.pages(f"/api/v1/evaluations/{evaluation}/results"))
        correct = {result["subject"]: [0] * result["rows"] for result in results}
        for sample in self.lyceum.pages(f"/api/v1/evaluations/{evaluation}/samples"):
            correct[sample["subject"]][sample["row"]] += sample["correct"]
        return {
            result["name"]: {
                "correct": correct[result["subject"]],
                "tokens": result["completion_tokens"] / (result["rows"] * n),
                "entropy": result["entropy"],
            }
            for result in results
        }

    def greedy(self, label, **spec):
        return self.answers(f"{label}/greedy", **spec)

    def begun(self, label, **spec):
        """Greedy answers that all begin alike, by the prompt style `measure.begun`: at the end, and of the base."""
        return self.answers(f"{label}/begun", prompts=self.measure["begun"], **spec)

    def sampled(self, label, temperature=1.0, n=None, **spec):
        n = self.measure["samples"] if n is None else n
        return self.answers(f"{label}/sampled/{n}/{temperature}", self.measure["sampled"], n, temperature, **spec)


def wait(lyceum, path, label):
    while True:
        state = lyceum.ask(path)
        if state["state"] == "completed":
            return state
        if state["state"] in ("failed", "cancelled", "paused"):
            raise SystemExit(f"results: {label} is {state['state']}: {state.get('error')}")
        time.sleep(0.5)


def measure_base(programs, data, rows, experiment):
    """The base: greedy answers; sampled ones, and its entropy by temperature, where the study has any."""
    with Lyceum(programs, data) as lyceum:
        measuring = Measuring(lyceum, rows, experiment, seed=0)
        model = {"base_model": {"name": base_of(experiment)}}
        only = lambda answers: next(iter(answers.values()))  # noqa: E731
        say("the base: greedy answers")
        found = {"greedy": only(measuring.greedy("base", **model))}
        if "begun" in experiment["measure"]:
            found["begun"] = only(measuring.begun("base", **model))
        if "samples" not in experiment["measure"]:
            return found
        say("the base: sampled answers, and entropy by temperature")
        found["sampled"] = only(measuring.sampled("base", **model))
        found["entropies"] = [
            [temperature, only(measuring.sampled("base", temperature, PROBES, **model))["entropy"]]
            for temperature in TEMPERATURES
        ]
        return found


def measure_matched(programs, data, rows, experiment, seed, base, trained):
    """The base at the temperature at which its entropy is that of a trained arm's members: sharpened, but not trained."""
    wanted = statistics.fmean(member["entropy"] for member in trained["sampled"].values())
    temperature = round(outcomes.crossing(base["entropies"], wanted), 3)
    with Lyceum(programs, data) as lyceum:
        measuring = Measuring(lyceum, rows, experiment, seed)
        say(f"the base at temperature {temperature}, seed {seed}")
        sampled = measuring.sampled("matched", temperature, base_model={"name": base_of(experiment)})
        return {"temperature": temperature, "wanted_entropy": wanted, "sampled": sampled}


def run_arm(programs, data, rows, label, seed, arm, experiment, goalposts=None):
    """One seed of an arm: the run, its greedy answers at every checkpoint, and sampled ones at the end."""
    overrides = {**experiment.get("common", {}), **arm.get("overrides", {}), "seed": seed}
    if not experiment["measure"].get("keeps_schedule"):
        overrides = {"benchmarks": None, **overrides}
    if "base" in experiment:
        overrides["populations.main.base_model.name"] = experiment["base"]
    begun = datetime.now(timezone.utc)
    with Lyceum(programs, data) as lyceum:
        if goalposts:
            study_goalposts.load(lyceum, goalposts)
        # Datasets that are made for the study are named like the arms that learn from them.
        name = overrides.get("parameters.dataset.name")
        if spec := experiment.get("training", {}).get(name):
            study_goalposts.import_rows(lyceum, name, "training", study_rows.first(spec["rows"], spec["problems"], spec.get("levels")))
        run = lyceum.run({"preset": arm["preset"], "name": label, "overrides": overrides}, label)
        # Measurements of the run's own schedule count in its time.
        ended = [run["finished_at"]]
        for evaluation in lyceum.pages(f"/api/v1/evaluations?run={run['id']}"):
            ended.append(wait(lyceum, f"/api/v1/evaluations/{evaluation['id']}", label)["finished_at"])
        created = datetime.fromisoformat(run["created_at"])
        # Of a run that an earlier call began, the time in between is not known.
        seconds = (max(map(datetime.fromisoformat, ended)) - created).total_seconds() if created >= begun else None
        names, metrics = lyceum.metrics(run["id"])
        measuring = Measuring(lyceum, rows, experiment, seed)
        spec = {"run": run["id"], "base": False, "roles": [SOLVING[run["recipe"]]]}
        points = checkpoints(run["steps"], experiment["measure"]["checkpoints"])
        greedy = []
        for step in points:
            say(f"{label}: held-out problems after {step} of {run['steps']} steps")
            greedy.append({"step": step, "members": measuring.greedy(f"{label}/{step}", step=step, **spec)})
        of_begun = {}
        if "begun" in experiment["measure"]:
            of_begun["begun"] = [{"step": run["steps"], "members": measuring.begun(label, step=run["steps"], **spec)}]
        sampled = {}
        if "samples" in experiment["measure"]:
            say(f"{label}: {experiment['measure']['samples']} answers to each of {experiment['measure']['sampled']} problems")
            sampled = measuring.sampled(label, step=run["steps"], **spec)
        keys = ("recipe", "steps", "seed", "problems", "valid_problems", "attempts", "reproducible")
        of_goalposts = {}
        if goalposts:
            of_goalposts["goalposts"] = study_goalposts.solved(lyceum, run, experiment, label, wait)
        return {
            "run": {key: run[key] for key in keys},
            "preset": arm["preset"],
            "overrides": overrides,
            "seconds": seconds,
            "metrics": names,
            "rows": metrics,
            "greedy": greedy,
            **of_begun,
            "sampled": sampled,
            **of_goalposts,
        }


def checkpoints(steps, count):
    """Evenly spaced steps, the last of them the end.

    >>> checkpoints(60, 5), checkpoints(2, 5), checkpoints(100, 1)
    ([12, 24, 36, 48, 60], [1, 2], [100])
    """
    return sorted({max(1, round(steps * part / count)) for part in range(1, count + 1)})


class Rows:
    """The rows of a study, in a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def path(self, arm, seed):
        return self.folder / f"{arm}-{seed}.json"

    def read(self, arm, seed):
        path = self.path(arm, seed)
        return json.loads(path.read_text()) if path.exists() else None

    def base(self):
        path = self.folder / "base.json"
        return json.loads(path.read_text()) if path.exists() else None


def run_study(programs, name, experiment, folder, scratch, jobs, write, in_parallel, development=False, only=()):
    """Runs what has no rows in `folder` yet: of the arms in `only`, or of all if it is empty."""
    rows = Rows(folder)
    scratch.mkdir(parents=True, exist_ok=True)
    asked = scratch / f"{name}{'-development' if development else ''}.jsonl"
    if not asked.exists():
        say(f"the problems of {name}")
        problems(experiment, asked, development)
    base = folder / "base.json"
    if not base.exists():
        data = scratch / f"{name}-base"
        write(base, measure_base(programs, data, asked, experiment))
        shutil.rmtree(data)

    goalposts = None
    if "goalposts" in experiment:
        goalposts = folder / "goalposts.jsonl"
        if not goalposts.exists():
            say(f"the goalposts of {name}")
            data = scratch / f"{name}-goalposts"
            study_goalposts.make(programs, data, experiment, goalposts, base_of(experiment), wait)
            shutil.rmtree(data)

    def one(job):
        arm, seed = job
        spec = experiment["arms"][arm]
        data = scratch / f"{name}-{arm}-{seed}"
        if of := spec.get("matches"):
            found = measure_matched(programs, data, asked, experiment, seed, rows.base(), rows.read(of, seed))
        else:
            found = run_arm(programs, data, asked, f"{name}/{arm}/{seed}", seed, spec, experiment, goalposts)
        write(rows.path(arm, seed), found)
        shutil.rmtree(data)

    def missing(is_matched):
        arms = [arm for arm, spec in experiment["arms"].items() if ("matches" in spec) == is_matched and (not only or arm in only)]
        return [(arm, seed) for seed in experiment["seeds"] for arm in arms if not rows.path(arm, seed).exists()]

    # What an arm is matched with must be there first.
    for is_matched in (False, True):
        in_parallel(missing(is_matched), one, jobs)


def smallest(experiment):
    """The study with one seed, two steps and few problems, to try that all of it works."""
    # One of each type and level.
    types, levels = (experiment["measure"].get(name, every) for name, every in (("types", TYPES), ("levels", LEVELS)))
    measure = {**experiment["measure"], "problems": len(types) * len(levels), "checkpoints": 2}
    if "samples" in measure:
        measure |= {"sampled": 5, "samples": 4, "ks": [1, 2, 4]}
    common = {**experiment.get("common", {}), **experiment.get("try", {"steps": 2})}
    # What is shortened in one recipe by one field is in another by another.
    arms = {name: {**arm, "overrides": {**arm.get("overrides", {}), **arm.get("try", {})}} for name, arm in experiment["arms"].items()}
    # Four answers cannot tell pass@64.
    too_many = {f"pass_at_{k}" for k in experiment["measure"].get("ks", []) if k > measure.get("samples", 1)} - {"pass_at_1"}
    stated = [outcome for outcome in experiment["outcomes"] if outcome["measure"] not in too_many]
    found = {**experiment, "seeds": experiment["seeds"][:1], "measure": measure, "common": common, "arms": arms, "outcomes": stated}
    if "goalposts" in experiment:
        found["goalposts"] = {**experiment["goalposts"], **experiment["goalposts"].get("try", {})}
    return found
