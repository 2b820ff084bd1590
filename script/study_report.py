"""The outcomes, tables and figures of a study, from its rows."""

import functools
import math
import statistics
import typing

import figures
import outcomes
import study

VERDICTS = {"appears": "appears", "refuted": "is refuted", "not_refuted": "is not refuted", "undecided": "is not decided"}


class Judged(typing.NamedTuple):
    """An outcome as it came."""

    outcome: dict
    mean: float
    # Of 95 %, over seeds and problems; none if there are too few seeds.
    interval: tuple | None
    # The parts of its error, over seeds and over problems.
    errors: tuple | None
    # Each seed of the arm, less the mean of the other.
    each: list
    verdict: str
    # The smallest difference that the study would probably have shown.
    least: float
    # What Holm's procedure goes by.
    p: float


NO_CONTROL = "is not decided, as the control is not shown to move"


def settled(judged):
    """Verdicts after what the study declares: several primary outcomes must pass Holm's procedure, and without its positive control
    nothing means anything, what appeared neither.

    >>> one = lambda verdict, **of: Judged({"arm": "a", **of}, 0, (), (), [], verdict, 0, 0.5)
    >>> [one.verdict for one in settled([one("is refuted", control=True), one("is refuted"), one("appears")])] == ["is refuted"] + 2 * [NO_CONTROL]
    True
    """
    primary = [place for place, one in enumerate(judged) if one.outcome.get("primary")]
    if len(primary) > 1:
        passed = dict(zip(primary, outcomes.judge(holm=[judged[place].p for place in primary])["holm"]))
        fails = lambda place, one: one.verdict == "appears" and passed.get(place) is False  # noqa: E731
        judged = [one._replace(verdict="is not decided") if fails(place, one) else one for place, one in enumerate(judged)]
    if moved(judged) is not False:
        return judged
    return [one if one.outcome.get("control") else one._replace(verdict=NO_CONTROL) for one in judged]


def moved(judged):
    """Whether the positive control of a study appeared: all that was expected of it, of the first arm that was tried or of a later
    one. Nothing if none is declared or was run.

    >>> one = lambda arm, verdict: Judged({"arm": arm, "control": True}, 0, (), (), [], verdict, 0, 0.5)
    >>> [moved(said) for said in ([], [one("a", "appears"), one("a", "is refuted")], [one("a", "is refuted"), one("b", "appears")])]
    [None, False, True]
    """
    tries = {}
    for one in judged:
        if one.outcome.get("control"):
            tries.setdefault(one.outcome["arm"], []).append(one.verdict.startswith("appears"))
    return any(map(all, tries.values())) if tries else None


class Found:
    """The rows of a study."""

    def __init__(self, name, experiment, folder):
        rows = study.Rows(folder / name)
        self.name, self.experiment, self.measure = name, experiment, experiment["measure"]
        self.base = rows.base()
        of = {arm: [rows.read(arm, seed) for seed in experiment["seeds"]] for arm in experiment["arms"]}
        self.arms = {arm: [row for row in found if row is not None] for arm, found in of.items()}

    def trained(self):
        return {arm: found for arm, found in self.arms.items() if found and "greedy" in found[0]}

    def is_there(self):
        return self.base is not None and bool(self.trained())

    def seeds(self):
        """How many seeds every trained arm has, in words."""
        there, planned = min(len(rows) for rows in self.trained().values()), len(self.experiment["seeds"])
        return f"{there} seeds" if there == planned else f"{there} of {planned} planned seeds so far"

    def values(self, arm, measure, level=None):
        if arm == "nothing":
            return [[0.0]]
        found = [outcomes.base_row(self.base)] if arm == "base" else self.arms[arm]
        values = [outcomes.values_of(row, measure, self.measure.get("samples", 1)) for row in found]
        if level is None:
            return values
        # Levels take turns, in a study of one type of problem.
        levels = self.measure["levels"]
        return [each[levels.index(level) :: len(levels)] for each in values]

    @functools.cached_property
    def outcomes(self):
        """Each outcome as it came; those whose arms have no rows are left out."""
        return settled(list(self.judged()))

    def judged(self):
        runs = [row for rows in self.trained().values() for row in rows]
        for outcome in self.experiment["outcomes"]:
            if outcome.get("primary") and outcome["expected"] == "not higher":
                raise SystemExit(f"results: {self.name}: `{outcome['text']}` cannot be primary, as `not higher` is never shown: higher or lower is")
            if why := outcomes.cannot_fail(outcome, runs, self.arms[outcome["arm"]]):
                raise SystemExit(f"results: {self.name}: the outcome `{outcome['text']}` cannot fail: {why}")
            arm, against = outcome["arm"], outcome["against"]
            is_arm = against not in ("base", "nothing", "control")
            if not self.arms[arm] or (is_arm and not self.arms[against]):
                continue
            measure = outcome["measure"]
            if " of " in measure and not all(outcomes.recorded(row, measure.partition(" of ")[2]) for row in self.arms[arm]):
                continue
            ours = self.values(arm, measure, outcome.get("level"))
            # The untrained base with as many attempts as the arm's own checkpoints.
            theirs = self.values(arm, f"{measure}_control") if against == "control" else self.values(against, measure, outcome.get("level"))
            theirs = [[0.0] * len(ours[0])] if against == "nothing" else theirs
            judged = self.judge(outcome, ours, theirs, against in ("base", "nothing"))
            sides = {side: self.experiment["arms"].get(side, {}) for side in (arm, against)}
            why = [f"`{side}` is vacuous: {why}" for side, of in sides.items() if (why := outcomes.vacuous(of, self.arms.get(side, [])))]
            yield judged._replace(verdict=f"is not decided: {why[0]}") if why else judged

    def judge(self, outcome, ours, theirs, is_fixed):
        expected = outcomes.expectation(outcome)
        [said] = outcomes.judge(effects=[{"ours": ours, "theirs": outcomes.arm(theirs, is_fixed), "expected": expected}])["effects"]
        level = statistics.fmean(statistics.fmean(values) for values in theirs)
        each = [statistics.fmean(values) - level for values in ours]
        mean = statistics.fmean(each)
        if outcome.get("in_every_seed"):
            return Judged(outcome, mean, None, None, each, self.in_every_seed(ours, theirs[0], outcome.get("at_least", 0.0)), math.inf, 1.0)
        planned = len(self.experiment["seeds"])
        if "undecidable" in said:
            return Judged(outcome, mean, None, None, each, f"is not decided: {said['undecidable']}", math.inf, 1.0)
        effect, verdict = said["effect"], VERDICTS[said["outcome"]]
        # A study is judged once, at the end that it declared.
        if len(ours) < planned or not is_fixed and len(theirs) < planned:
            verdict = f"is not decided: {min(len(ours), planned if is_fixed else len(theirs))} of {planned} seeds"
        interval, errors = (effect["low"], effect["high"]), (effect["over_seeds"], effect["over_problems"])
        return Judged(outcome, mean, interval, errors, each, verdict, said["least_shown"], said["p_value"])

    def in_every_seed(self, ours, base, by):
        """Whether each seed's difference from the base is large enough and its interval over problems excludes 0."""
        asked = [{"ours": {"fixed": values}, "theirs": {"fixed": base}, "expected": {"higher": 0.0}} for values in ours]
        said = outcomes.judge(effects=asked)["effects"]
        seeds = [one.get("outcome") == "appears" and one["effect"]["difference"] >= by for one in said]
        return f"appears in {sum(seeds)} of {len(seeds)} seeds"


def points(value, unit):
    return f"{100 * value:+.1f}" if unit == "points" else f"{value:+.1f}" if unit == "tokens" else f"{value:+.3g}"


def between(interval, unit):
    return "none" if interval is None else f"[{points(interval[0], unit)}, {points(interval[1], unit)}]"


def counted(count, what):
    return f"{count} {what}{'' if count == 1 else 's'}"


def unit_of(outcome):
    """Metrics of a run have no unit here, unless the outcome says that they are shares, whose differences are points."""
    if " of " in outcome["measure"]:
        return outcome.get("unit", "")
    return "tokens" if outcome["measure"] == "tokens" else "points"


def measured(outcome):
    """What of which arms an outcome compares."""
    measure, against = outcome["measure"].replace("pass_at_", "pass@"), outcome["against"]
    arms = outcome["arm"] if against == "nothing" else f"{outcome['arm']} − {against}"
    level = f" at level {outcome['level']}" if "level" in outcome else ""
    return f"{arms}, {measure}{level}"


def outcome_table(found):
    body = []
    for outcome, mean, interval, errors, each, verdict, least, _ in found.outcomes:
        unit = unit_of(outcome)
        role = " (control)" if outcome.get("control") else " (primary)" if outcome.get("primary") else ""
        plain = lambda value: points(value, unit).removeprefix("+")  # noqa: B023, E731
        cells = [
            outcome["text"] + role,
            measured(outcome),
            f"{points(mean, unit)}{' tokens' if unit == 'tokens' else ''}",
            between(interval, unit),
            " and ".join(plain(error) for error in errors if error) if errors else "",
            "" if least == math.inf else plain(least),
            ", ".join(points(value, unit) for value in each),
            f"**{verdict}**",
        ]
        body.append(cells)
    return ["expected", "what", "mean", "95 %", "error over seeds and problems", "least shown", "by seed", "verdict"], body


def interval_over_seeds(lists):
    """The mean of each list of shares with its interval; a single seed has none."""
    return [(mean, mean, mean) if high == math.inf else (mean, max(0.0, low), min(1.0, high)) for mean, low, high in outcomes.intervals(lists)]


def accuracy_curves(found):
    """Greedy accuracy at checkpoints: the mean over seeds with its interval; every arm begins at the base."""
    base = statistics.fmean(outcomes.by_problem({"base": found.base["greedy"]}, 1, 1))
    curves = []
    for arm, rows in found.trained().items():
        checkpoints = rows[0]["greedy"]
        means = [
            [statistics.fmean(outcomes.by_problem(row["greedy"][place]["members"], 1, 1)) for row in rows] for place in range(len(checkpoints))
        ]
        points = [(one["step"], *interval) for one, interval in zip(checkpoints, interval_over_seeds(means))]
        curves.append((arm, [(0, base, base, base), *points], False))
    last = curves[0][1][-1][0]
    return [*curves, ("base", [(0, base, base, base), (last, base, base, base)], True)]


def pass_at_k_curves(found):
    """pass@k at the end: the mean over seeds with its interval; and the base's."""
    samples, ks = found.measure["samples"], found.measure["ks"]
    curves = []
    for arm, rows in found.arms.items():
        if not rows:
            continue
        means = [[statistics.fmean(outcomes.by_problem(row["sampled"], samples, k)) for row in rows] for k in ks]
        points = [(k, *interval) for k, interval in zip(ks, interval_over_seeds(means))]
        curves.append((arm, points, "temperature" in rows[0]))
    base = [statistics.fmean(outcomes.by_problem({"base": found.base["sampled"]}, samples, k)) for k in ks]
    return [*curves, ("base", [(k, value, value, value) for k, value in zip(ks, base)], True)]


def metric_curves(found, name):
    """A metric over the steps that have it: the mean over seeds with its interval."""
    curves = []
    for arm, rows in found.trained().items():
        if name not in rows[0]["metrics"]:
            continue
        place = rows[0]["metrics"].index(name) + 1
        every = [(lines[0][0] + 1, [line[place] for line in lines]) for lines in zip(*(row["rows"] for row in rows))]
        steps = [(step, values) for step, values in every if None not in values]
        found_at = outcomes.intervals([values for _, values in steps])
        points = [(step, mean, *((mean, mean) if high == math.inf else (low, high))) for (step, _), (mean, low, high) in zip(steps, found_at)]
        curves.append((arm, points, False))
    return curves


def drawings(found):
    """The study's figures by file name."""
    seeds = found.seeds()
    made = {
        "accuracy.svg": figures.lines(
            "Held-out accuracy over steps",
            "step",
            "greedy pass@1, per cent",
            accuracy_curves(found),
            f"Greedy pass@1 on {found.measure['problems']} held-out problems; bands are 95 % intervals over {seeds}.",
        )
    }
    for name in found.measure.get("charts", []):
        made[f"{name.replace('_', '-')}.svg"] = figures.lines(
            f"`{name}` over steps",
            "step",
            name.replace("_", " "),
            metric_curves(found, name),
            f"The metric {name} of the runs; bands are 95 % intervals over {seeds}.",
            is_share=False,
        )
    if "samples" in found.measure:
        made["pass-at-k.svg"] = figures.lines(
            f"pass@k on {found.measure['sampled']} held-out problems at the end",
            "k",
            "per cent",
            pass_at_k_curves(found),
            f"Of {found.measure['samples']} answers; bands are 95 % intervals over {seeds}.",
            x_places=True,
        )
        rows = [
            (measured(one.outcome), one.mean, one.interval)
            for one in found.outcomes
            if outcomes.is_by_problem(one.outcome["measure"]) and one.interval is not None
        ]
        if rows:
            made["differences.svg"] = figures.differences(
                "Arm against arm", "points", rows, "Differences with 95 % intervals over seeds and problems. Grey: the interval includes 0."
            )
    return made


def score_table(found):
    """Accuracy and length of every arm at the end."""
    body = []
    base = found.base["greedy"]
    body.append(["base", f"{100 * statistics.fmean(base['correct']):.1f}", f"{base['tokens']:.1f}", "", ""])
    for arm, rows in found.trained().items():
        accuracy = [100 * statistics.fmean(outcomes.by_problem(row["greedy"][-1]["members"], 1, 1)) for row in rows]
        length = [outcomes.tokens(row["greedy"][-1]["members"]) for row in rows]
        # Of an interrupted run it is not known.
        minutes = [row["seconds"] / 60 for row in rows if row["seconds"] is not None]
        body.append([arm, listed(accuracy), listed(length), listed(minutes) if minutes else "", str(rows[0]["run"]["steps"])])
    for arm, rows in found.arms.items():
        if rows and "temperature" in rows[0]:
            lowest = found.base["entropies"][0][0]
            of = lambda row: f"{row['temperature']}{' (the lowest measured)' if row['temperature'] <= lowest else ''}"  # noqa: B023, E731
            body.append([f"{arm}: temperature", ", ".join(of(row) for row in rows), "", "", ""])
    return ["", "greedy pass@1, per cent", "tokens of an answer", "minutes", "steps"], body


def lengths(found):
    """How the length of answers goes with accuracy, in sentences: over all runs at their end, and over the steps of each."""
    rows = [row for found_rows in found.trained().values() for row in found_rows]
    ends = [row["greedy"][-1]["members"] for row in rows]
    accuracy = [statistics.fmean(outcomes.by_problem(members, 1, 1)) for members in ends]
    said = []
    over_runs = correlation([outcomes.tokens(members) for members in ends], accuracy)
    if over_runs is not None:
        said.append(f"Over all {len(rows)} runs, the length of answers and accuracy at the end correlate by {over_runs:.2f}.")
    for arm, runs in found.trained().items():
        if all(name in run["metrics"] for run in runs for name in ("pass_rate", "response_length")):
            each = [correlation(*(outcomes.recorded(run, name) for name in ("response_length", "pass_rate"))) for run in runs]
            first = [statistics.fmean(outcomes.recorded(run, "response_length")[:3]) for run in runs]
            if None not in each:
                said.append(
                    f"{arm}: over the steps of a run the length of answers and the pass rate correlate by {', '.join(f'{one:.2f}' for one in each)}"
                    f" (by seed); answers of the first three steps have {', '.join(f'{one:.1f}' for one in first)} tokens."
                )
    return said


def correlation(xs, ys):
    """Pearson's; none of equal values, of fewer than three, or of lists that do not belong together.

    >>> correlation([1, 2, 3], [2, 4, 6]), correlation([1, 1, 1], [1, 2, 3])
    (1.0, None)
    """
    if len(xs) != len(ys) or len(xs) < 3 or len(set(xs)) == 1 or len(set(ys)) == 1:
        return None
    return statistics.correlation(xs, ys)


def metric_table(found):
    """The metrics of the runs that the study names: each seed's first and last value, and the mean over the run."""
    body = []
    for arm, rows in found.trained().items():
        for name in found.measure["metrics"]:
            if not all(name in row["metrics"] and outcomes.recorded(row, name) for row in rows):
                continue
            of = lambda part: ", ".join(f"{outcomes.of_run(row, f'{part} of {name}'):.3g}" for row in rows)  # noqa: B023, E731
            body.append([arm, f"`{name}`", of("first"), of("last"), of("mean")])
    return ["", "metric", "first", "last", "mean over the run"], body


def goalpost_table(found):
    """What each arm solved of the goalposts, by seed and by any, alongside the untrained base with as many attempts (table 4)."""
    body = []
    for arm, rows in found.trained().items():
        cells = [arm]
        for side in ("solved", "control"):
            each = [row["goalposts"][side] for row in rows]
            cells += [" / ".join(str(len(solved)) for solved in each), str(len(set().union(*each)))]
        generated = [outcomes.of_run(row, "sum of completion_tokens") for row in rows]
        millions = " / ".join(f"{tokens / 1e6:.2f}" for tokens in generated)
        body.append([*cells, f"{sum(row['goalposts']['attempts'] for row in rows):,}", millions])
    head = ["", "solved, by seed", "by any seed", "base, by seed", "base, by any", "attempts"]
    return [*head, "million tokens generated, by seed"], body


def listed(values):
    return f"{statistics.fmean(values):.1f} ({', '.join(f'{value:.1f}' for value in values)})"
